# SPDX-License-Identifier: BSD-2-Clause
# The BPF programs and user/kernel, tested in the running kernel. Each NAME_test.c is a program.

BPFTESTS := $(patsubst selftests/bpf/%.c,$(BUILD)/selftests/bpf/%,$(wildcard selftests/bpf/*_test.c))
BPFTESTS_OBJ := $(O)/selftests/bpf/fixture.o $(filter $(O)/user/kernel/% $(O)/user/unwind/%,$(HALO_BPF_OBJ)) \
		$(HALO_LIB_OBJ)

$(BPFTESTS): $(BUILD)/selftests/bpf/%: $(O)/selftests/bpf/%.o $(BPFTESTS_OBJ)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(HALO_BPF_LIBS) -lpthread -o $@

$(BUILD)/selftests/bpf/busy: selftests/bpf/busy.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O1 -fno-omit-frame-pointer -Wl,--build-id=sha1 $< -lpthread -o $@

TESTS += $(BPFTESTS) $(BUILD)/selftests/bpf/busy
