# SPDX-License-Identifier: BSD-2-Clause
# build/bench-start, and the program that it starts, plain and prepared.

START_DIR := $(O)/selftests/bench/start

$(BUILD)/bench-start: $(O)/selftests/bench/start/start.o $(O)/selftests/bench/measure.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@

$(START_DIR)/true-plain: selftests/bench/start/true.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -O2 $< -o $@

$(START_DIR)/true-halo: selftests/bench/start/true.c $(PREPARE_ALL)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BUILD)/halo-cc -O2 $< -o $@

START_ALL := $(BUILD)/bench-start $(START_DIR)/true-plain $(START_DIR)/true-halo
