# SPDX-License-Identifier: BSD-2-Clause
# Everything that the tests need beyond the programs themselves.
.PHONY: tests
TESTS :=

# cmocka unit tests: selftests/unit/NAME_test.c, linked with all of the daemon but main().
UNIT_SRC := $(wildcard selftests/unit/*_test.c)
UNIT_BIN := $(UNIT_SRC:selftests/unit/%.c=$(BUILD)/selftests/unit/%)
CPPFLAGS_selftests := -Iuser -I$(BUILD)/bpf

$(BUILD)/selftests/unit/%: $(O)/selftests/unit/%.o $(HALO_DAEMON_OBJ) $(HALO_LIB_OBJ)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(HALO_BPF_LIBS) -lcmocka -o $@

include selftests/bpf/bpf-tests.mk
include selftests/kernel/kernel-tests.mk
include selftests/unwind/unwind-tests.mk
include selftests/lbr/lbr.mk
include selftests/programs/programs.mk
include selftests/e2e/attach/attach.mk
include selftests/bench/bench.mk

# A command without a system call, for the tests of what is missing.
$(BUILD)/selftests/e2e/deny: selftests/e2e/deny.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $< -lseccomp -o $@

TESTS += $(UNIT_BIN) $(BUILD)/selftests/e2e/deny
TESTS += $(PROGRAMS_plain) $(PROGRAMS_native) $(PROGRAMS_halo)
tests: $(TESTS)

include selftests/fuzz/fuzz.mk
