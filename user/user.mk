# SPDX-License-Identifier: BSD-2-Clause
# The daemon and command line (halo-bpf) and what they share with the other programs.

HALO_LIB_SRC := $(wildcard user/lib/*.c)
HALO_LIB_OBJ := $(HALO_LIB_SRC:%.c=$(O)/%.o)
HALO_SYMBOLS_SRC := $(wildcard user/branches/*.c user/symbols/*.c user/export/*.c)
HALO_SYMBOLS_LIBS := -ldw -lZydis -liberty
HALO_LIB_LIBS := -ljson-c -lelf -lzstd -lmd

HALO_BPF_SRC := $(wildcard user/kernel/*.c user/unwind/*.c user/daemon/*.c user/torture/*.c user/cli/*.c) $(HALO_SYMBOLS_SRC)
HALO_BPF_OBJ := $(HALO_BPF_SRC:%.c=$(O)/%.o)
HALO_BPF_LIBS := $(HALO_LIB_LIBS) -lbpf -lz -lcap -lm -lsystemd $(HALO_SYMBOLS_LIBS)

# All of the daemon but main(), for the tests.
HALO_DAEMON_OBJ := $(filter-out $(O)/user/cli/main.o,$(HALO_BPF_OBJ))

CPPFLAGS_user := -I$(BUILD)/bpf

ALL += $(BUILD)/halo-bpf

$(BUILD)/halo-bpf: $(HALO_BPF_OBJ) $(HALO_LIB_OBJ)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(HALO_BPF_LIBS) -o $@
