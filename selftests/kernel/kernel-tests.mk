# SPDX-License-Identifier: BSD-2-Clause
# What is tested on each kernel of selftests/vm/kernels, and on the running one.

$(BUILD)/selftests/kernel/load_test: $(O)/selftests/kernel/load_test.o $(BPFTESTS_OBJ)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(HALO_BPF_LIBS) -lpthread -o $@

$(BUILD)/selftests/kernel/cases: selftests/unwind/cases.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -g -O2 -fomit-frame-pointer -Wl,-z,lazy -o $@ $<

TESTS += $(BUILD)/selftests/kernel/load_test $(BUILD)/selftests/kernel/cases
