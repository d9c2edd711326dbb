# SPDX-License-Identifier: BSD-2-Clause
# The kernel's unwinder on the host: see step.sh and fuzz.sh.

UNWIND_TEST_OBJ := $(O)/selftests/unwind/host.o $(filter $(O)/user/unwind/%,$(HALO_BPF_OBJ)) \
		   $(HALO_LIB_OBJ)
UNWIND_TESTS := $(addprefix $(BUILD)/selftests/unwind/,step fuzz tables)

$(UNWIND_TESTS): $(BUILD)/selftests/unwind/%: $(O)/selftests/unwind/%.o $(UNWIND_TEST_OBJ)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(HALO_LIB_LIBS) -o $@

TESTS += $(UNWIND_TESTS)

.PHONY: bench-unwind
bench-unwind: all tests
	$(Q)selftests/bench/unwind.sh
