# SPDX-License-Identifier: BSD-2-Clause
# build/bench-calls: what a call costs, built by plain clang but for the functions that it calls.

CALLS_DIR := $(O)/selftests/bench/calls
CALLS_CC := $(CLANG) -O2 -fPIC -Wall -Wextra -Werror
CALLS_SRC := selftests/bench/calls/callee.c selftests/bench/calls/calls.h

# $(1): object or library, $(2): its compiler and flags
define calls_rule
$(CALLS_DIR)/$(1): $(CALLS_SRC) $(PREPARE_ALL)
	$$(call msg,CC,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(2) $$< -o $$@
endef
$(eval $(call calls_rule,plain.o,$(CALLS_CC) -DCALLEE=callee_plain -c))
CALLS_PADS := 18,16
$(eval $(call calls_rule,pads.o,$(CALLS_CC) -fpatchable-function-entry=$$(CALLS_PADS) -DCALLEE=callee_pads -c))
$(eval $(call calls_rule,prepared.o,$(BUILD)/halo-cc -O2 -fPIC -DCALLEE=callee_prepared -c))
$(eval $(call calls_rule,libplain.so,$(CALLS_CC) -DCALLEE=lib_plain -shared))
$(eval $(call calls_rule,libprepared.so,$(BUILD)/halo-cc -O2 -fPIC -DCALLEE=lib_prepared -shared))

$(CALLS_DIR)/main.o: selftests/bench/calls/main.c selftests/bench/calls/calls.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CALLS_CC) $(CPPFLAGS) -std=gnu11 -c $< -o $@

CALLS_OBJ := $(addprefix $(CALLS_DIR)/,main.o plain.o pads.o prepared.o libplain.so libprepared.so) \
	     $(O)/user/daemon/count_entry.o $(O)/selftests/bench/measure.o

$(BUILD)/bench-calls: $(CALLS_OBJ)
	$(call msg,LINK,$@)
	$(Q)$(BUILD)/halo-cc $^ -Wl,-rpath,'$$ORIGIN/obj/selftests/bench/calls' -o $@

.PHONY: bench-calls
bench-calls: $(BUILD)/bench-calls
	$(Q)$<
