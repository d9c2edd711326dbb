# SPDX-License-Identifier: BSD-2-Clause
# make bench-NAME measures one thing (docs/benchmarks.md); make bench measures all of them.

$(BUILD)/bench-pairs: $(O)/selftests/bench/pairs.o $(O)/selftests/bench/measure.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ -ljson-c -o $@

include selftests/bench/calls/calls.mk
include selftests/bench/start/start.mk

$(BUILD)/bench-attach: $(O)/selftests/bench/attach.o $(ATTACH_SRC:%.c=$(O)/%.o) $(HALO_LIB_OBJ)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(HALO_LIB_LIBS) -ljson-c -o $@

$(BUILD)/bench-feed: $(O)/selftests/bench/feed.o $(BPFTESTS_OBJ)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(HALO_BPF_LIBS) -lpthread -o $@

TESTS += $(BUILD)/bench-pairs $(BUILD)/bench-calls $(BUILD)/bench-attach $(BUILD)/bench-feed $(START_ALL)

.PHONY: bench-prepare bench-speedup bench-pgo bench-attach bench-profile
bench-prepare: all programs $(BUILD)/bench-pairs $(START_ALL)
	$(Q)selftests/bench/prepare.sh

bench-speedup: all programs
	$(Q)selftests/bench/speedup.sh

bench-pgo: all programs
	$(Q)selftests/bench/pgo.sh

bench-attach: all $(ATTACH_ALL) $(BUILD)/bench-attach
	$(Q)selftests/bench/attach.sh

bench-profile: all programs $(BUILD)/bench-pairs $(BUILD)/bench-feed
	$(Q)selftests/bench/profile.sh

bench: bench-prepare bench-calls bench-speedup bench-pgo bench-attach bench-profile
