# SPDX-License-Identifier: BSD-2-Clause
# halo-opt, the worker that holds LLVM.

HALO_OPT_SRC := $(wildcard optimizer/*.c)
HALO_OPT_OBJ := $(HALO_OPT_SRC:%.c=$(O)/%.o) $(O)/optimizer/shim.o $(O)/tools/prepare/probes.o
HALO_OPT_BUILTINS := $(shell $(CLANG) --rtlib=compiler-rt --print-libgcc-file-name)
LLVM_CFLAGS := -isystem $(shell $(LLVM_CONFIG) --includedir)
LLVM_LIBS := -L$(shell $(LLVM_CONFIG) --libdir) -lLLVM-19

CPPFLAGS_optimizer := $(LLVM_CFLAGS) -DOPT_BUILTINS='"$(HALO_OPT_BUILTINS)"'

OPT_CXXFLAGS := -std=c++17 -O2 -g -fno-exceptions -fno-rtti -Wall -Wextra -Werror -Wno-unused-parameter

ALL += $(BUILD)/halo-opt

$(O)/optimizer/shim.o: optimizer/shim.cpp
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CPPFLAGS) $(LLVM_CFLAGS) $(OPT_CXXFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/halo-opt: $(HALO_OPT_OBJ) $(HALO_LIB_OBJ)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LLVM_LIBS) $(HALO_LIB_LIBS) -lseccomp -lstdc++ -lm -o $@

# Unit tests, linked with all of halo-opt but main().
OPT_UNIT_SRC := $(wildcard selftests/unit/opt_*_test.c)
OPT_UNIT_OBJ := $(filter-out $(O)/optimizer/main.o,$(HALO_OPT_OBJ))
OPT_UNIT_BIN := $(OPT_UNIT_SRC:selftests/unit/%.c=$(BUILD)/selftests/unit/%)

$(OPT_UNIT_SRC:%.c=$(O)/%.o): CPPFLAGS += $(LLVM_CFLAGS) -Ioptimizer -DKNOBS_DIR=\"$(CURDIR)/knobs\"

$(OPT_UNIT_BIN): $(BUILD)/selftests/unit/%: $(O)/selftests/unit/%.o $(OPT_UNIT_OBJ) $(HALO_LIB_OBJ)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LLVM_LIBS) $(HALO_LIB_LIBS) -lseccomp -lstdc++ -lm -lcmocka -o $@
