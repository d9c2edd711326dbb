# SPDX-License-Identifier: BSD-2-Clause
# make bench-NAME measures one thing (docs/benchmarks.md); make bench measures all of them.

$(BUILD)/bench-pairs: $(O)/selftests/bench/pairs.o $(O)/selftests/bench/measure.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ -ljson-c -o $@

include selftests/bench/calls/calls.mk
include selftests/bench/start/start.mk

TESTS += $(BUILD)/bench-pairs $(BUILD)/bench-calls $(START_ALL)

.PHONY: bench-prepare bench-speedup
bench-prepare: all programs $(BUILD)/bench-pairs $(START_ALL)
	$(Q)selftests/bench/prepare.sh

bench-speedup: all programs
	$(Q)selftests/bench/speedup.sh

bench: bench-prepare bench-calls bench-speedup
