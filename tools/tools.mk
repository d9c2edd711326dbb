# SPDX-License-Identifier: BSD-2-Clause
# halo-cc, halo-c++, the pass plugin and the objects that every prepared program is linked with.

PREPARE_CXX_OBJ := $(patsubst %.cpp,$(O)/%.o,$(wildcard tools/prepare/*.cpp))
PREPARE_OBJ := $(patsubst %.c,$(O)/%.o,$(wildcard tools/prepare/*.c)) $(PREPARE_CXX_OBJ)
HALO_CC_OBJ := $(patsubst %.c,$(O)/%.o,$(wildcard tools/*.c))
HALO_CC_LIB := $(wildcard user/lib/prepared.c)

CPPFLAGS_tools := -Iuser/lib -isystem $(shell $(LLVM_CONFIG) --includedir)
PREPARE_CXXFLAGS := -std=c++17 -O2 -g -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti \
		    -Wall -Wextra -Werror -Wno-unused-parameter

$(filter-out $(PREPARE_CXX_OBJ),$(PREPARE_OBJ)): CFLAGS += -fPIC -fvisibility=hidden

$(PREPARE_CXX_OBJ): $(O)/%.o: %.cpp
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CPPFLAGS) $(CPPFLAGS_tools) $(PREPARE_CXXFLAGS) -MMD -MP -c $< -o $@

# LLVM's symbols are clang's own when it loads the plugin.
$(BUILD)/halo-prepare.so: $(PREPARE_OBJ)
	$(call msg,LINK,$@)
	$(Q)$(CC) -shared $(LDFLAGS) $^ -lzstd -lmd -o $@

# What is linked into other people's programs: no libc, and compatible with -fcf-protection=full.
STUB_CFLAGS := -std=gnu11 -Os -fPIC -ffreestanding -fno-stack-protector -fvisibility=hidden \
	       -mgeneral-regs-only \
	       -fasynchronous-unwind-tables -fcf-protection=full -Wall -Wextra -Werror
STUB_OBJ := $(addprefix $(BUILD)/halo-,begin.o stub.o unwind.o library.o end.o)

# No exception passes the stub, and no signal comes while it is on a stack of its own.
$(BUILD)/halo-stub.o $(BUILD)/halo-library.o: STUB_CFLAGS += -fno-asynchronous-unwind-tables

$(BUILD)/halo-stub.o $(BUILD)/halo-unwind.o $(BUILD)/halo-library.o $(BUILD)/halo-names.o: $(BUILD)/halo-%.o: user/stub/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D) $(O)/user/stub
	$(Q)$(CLANG) $(CPPFLAGS) $(STUB_CFLAGS) -MMD -MP -MF $(O)/user/stub/$*.d -c $< -o $@

# An archive, so that only programs that use it have it.
$(BUILD)/halo-names.ar: $(BUILD)/halo-names.o
	$(call msg,AR,$@)
	$(Q)rm -f $@
	$(Q)ar rcs $@ $<

$(BUILD)/halo-%.o: user/stub/%.S user/include/halo/prepared.h
	$(call msg,AS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -c $< -o $@

$(BUILD)/halo-slots.lds: user/stub/slots.lds
	$(call msg,CP,$@)
	$(Q)cp $< $@

$(BUILD)/halo-cc: $(HALO_CC_OBJ) $(HALO_LIB_OBJ)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(HALO_LIB_LIBS) -o $@

$(BUILD)/halo-c++: $(BUILD)/halo-cc
	$(call msg,LN,$@)
	$(Q)ln -sf halo-cc $@

# What CMake looks for beside a compiler called halo-cc, as it would for x86_64-linux-gnu-gcc.
HALO_LLVM := $(addprefix $(BUILD)/halo-,llvm-ar llvm-ranlib)
$(HALO_LLVM): $(BUILD)/halo-%:
	$(call msg,LN,$@)
	$(Q)ln -sf $(shell $(LLVM_CONFIG) --bindir)/$* $@

PREPARE_ALL := $(BUILD)/halo-prepare.so $(BUILD)/halo-cc $(BUILD)/halo-c++ $(STUB_OBJ) \
	       $(BUILD)/halo-names.ar \
	       $(BUILD)/halo-slots.lds $(HALO_LLVM)
ALL += $(PREPARE_ALL)
.PHONY: prepare
prepare: $(PREPARE_ALL)
