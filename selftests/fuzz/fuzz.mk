# SPDX-License-Identifier: BSD-2-Clause
# libFuzzer targets, built by name: build/selftests/fuzz/NAME_fuzz CORPUS… Not part of "all".
FUZZ_CFLAGS := -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined

$(BUILD)/selftests/fuzz/%_fuzz: selftests/fuzz/%_fuzz.c $(HALO_LIB_SRC)
	$(call msg,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS) $(CPPFLAGS_selftests) $(FUZZ_CFLAGS) $^ $(HALO_LIB_LIBS) -o $@
