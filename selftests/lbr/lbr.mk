# SPDX-License-Identifier: BSD-2-Clause
# Branch stacks without hardware that records them: recordings of other machines, and a recorder.

LBRTESTS := $(BUILD)/selftests/lbr/replay_test $(BUILD)/selftests/lbr/recorder

$(BUILD)/selftests/lbr/replay_test: $(O)/selftests/lbr/replay_test.o $(BPFTESTS_OBJ)
$(BUILD)/selftests/lbr/recorder: $(O)/selftests/lbr/recorder.o $(O)/user/kernel/feed.o $(HALO_LIB_OBJ)

$(LBRTESTS):
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(HALO_BPF_LIBS) -o $@

TESTS += $(LBRTESTS)
