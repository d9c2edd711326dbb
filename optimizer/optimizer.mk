# SPDX-License-Identifier: BSD-2-Clause
# halo-opt, the worker that holds LLVM.

HALO_OPT_SRC := $(wildcard optimizer/*.c)
HALO_OPT_OBJ := $(HALO_OPT_SRC:%.c=$(O)/%.o)
LLVM_CFLAGS := -I$(shell $(LLVM_CONFIG) --includedir)
LLVM_LIBS := -L$(shell $(LLVM_CONFIG) --libdir) -lLLVM-19

CPPFLAGS_optimizer := $(LLVM_CFLAGS)

ALL += $(BUILD)/halo-opt

$(BUILD)/halo-opt: $(HALO_OPT_OBJ) $(HALO_LIB_OBJ)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LLVM_LIBS) $(HALO_LIB_LIBS) -lseccomp -o $@
