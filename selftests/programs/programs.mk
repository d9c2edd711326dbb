# SPDX-License-Identifier: BSD-2-Clause
# The programs in selftests/programs/, each built three ways:
#
#   plain/NAME    stock clang -O2: what is measured against
#   halo/NAME     the same, by halo-cc
#   native/NAME   -O3 for this CPU, to the bit the same output: what a rebuild would give
#
# Not part of "all": most people need none of them. "make programs" builds them all.

PROGRAMS_DIR := $(BUILD)/programs
PROGRAM_SRC := $(filter-out %/main.c %/program.c,$(wildcard selftests/programs/*.c))
PROGRAM_NAMES := $(sort $(PROGRAM_SRC:selftests/programs/%.c=%) \
		   $(patsubst selftests/programs/%.cpp,%,$(wildcard selftests/programs/*.cpp)))

PROGRAM_CPPFLAGS := -D_GNU_SOURCE -Iselftests/programs -Wall -Wextra -Werror
PROGRAM_LIBS := -lm -pthread

PROGRAM_CC_plain := $(CLANG)
PROGRAM_CXX_plain := $(CLANG:clang%=clang++%)
PROGRAM_FLAGS_plain := -O2
PROGRAM_CC_native := $(PROGRAM_CC_plain)
PROGRAM_CXX_native := $(PROGRAM_CXX_plain)
PROGRAM_FLAGS_native := -O3 -march=native -ffp-contract=off
PROGRAM_CC_halo := $(BUILD)/halo-cc
PROGRAM_CXX_halo := $(BUILD)/halo-c++
PROGRAM_FLAGS_halo := -O2

# All that a prepared program is made with: a change of it builds the programs anew.
PROGRAM_DEPS_halo := $(PREPARE_ALL)

# $(1): plain, native or halo.
define program_rules
$(PROGRAMS_DIR)/$(1)/obj/%.o: selftests/programs/%.c $(wildcard selftests/programs/*.h) \
			      $$(PROGRAM_DEPS_$(1))
	$$(call msg,CC,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(PROGRAM_CC_$(1)) $$(PROGRAM_CPPFLAGS) $$(PROGRAM_FLAGS_$(1)) -c $$< -o $$@

$(PROGRAMS_DIR)/$(1)/obj/%.o: selftests/programs/%.cpp $(wildcard selftests/programs/*.h) \
			      $$(PROGRAM_DEPS_$(1))
	$$(call msg,CXX,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(PROGRAM_CXX_$(1)) -std=c++17 $$(PROGRAM_CPPFLAGS) $$(PROGRAM_FLAGS_$(1)) -c $$< -o $$@

$(PROGRAMS_DIR)/$(1)/%: $(PROGRAMS_DIR)/$(1)/obj/%.o $(PROGRAMS_DIR)/$(1)/obj/program.o \
		       $(PROGRAMS_DIR)/$(1)/obj/main.o
	$$(call msg,LINK,$$@)
	$$(Q)$$(if $$(wildcard selftests/programs/$$*.cpp),$$(PROGRAM_CXX_$(1)),$$(PROGRAM_CC_$(1))) \
		$$(PROGRAM_FLAGS_$(1)) $$(filter-out $$(if $$(filter inmain,$$*),%/main.o),$$^) \
		$$(PROGRAM_LIBS) -o $$@
endef
$(foreach way,plain native halo,$(eval $(call program_rules,$(way))))

PROGRAMS_plain := $(PROGRAM_NAMES:%=$(PROGRAMS_DIR)/plain/%)
PROGRAMS_native := $(PROGRAM_NAMES:%=$(PROGRAMS_DIR)/native/%)
PROGRAMS_halo := $(PROGRAM_NAMES:%=$(PROGRAMS_DIR)/halo/%)

.PHONY: programs programs-plain programs-native programs-halo
programs-plain: $(PROGRAMS_plain)
programs-native: $(PROGRAMS_native)
programs-halo: $(PROGRAMS_halo)
programs: programs-plain programs-native programs-halo
