# SPDX-License-Identifier: BSD-2-Clause
# A daemon in miniature, and a prepared program that it attaches: see selftests/e2e/attach.sh.

ATTACH_DIR := $(BUILD)/selftests/e2e/attach
ATTACH_SRC := user/daemon/store.c user/daemon/arena.c user/daemon/arena_elf.c user/daemon/family.c user/daemon/layout.c \
	      user/daemon/maps.c user/daemon/rseq.c user/daemon/count_entry.c user/daemon/aside.c \
	      user/daemon/image.c user/daemon/offer.c $(wildcard user/unwind/*.c) \
	      $(wildcard user/daemon/inject*.c user/daemon/tracee*.c)

$(ATTACH_DIR)/driver: $(O)/selftests/e2e/attach/driver.o $(ATTACH_SRC:%.c=$(O)/%.o) $(HALO_LIB_OBJ)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(HALO_LIB_LIBS) -o $@

ATTACH_TARGET_FLAGS := -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -pthread

$(ATTACH_DIR)/target: selftests/e2e/attach/target.c $(PREPARE_ALL)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BUILD)/halo-cc $(ATTACH_TARGET_FLAGS) $< -o $@

$(ATTACH_DIR)/target-nopie: selftests/e2e/attach/target.c $(PREPARE_ALL)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BUILD)/halo-cc $(ATTACH_TARGET_FLAGS) -fno-pie -no-pie $< -o $@

$(ATTACH_DIR)/target-static: selftests/e2e/attach/target.c $(PREPARE_ALL)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BUILD)/halo-cc $(ATTACH_TARGET_FLAGS) -static $< -o $@

$(ATTACH_DIR)/target-static-pie: selftests/e2e/attach/target.c $(PREPARE_ALL)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BUILD)/halo-cc $(ATTACH_TARGET_FLAGS) -static-pie $< -o $@

ATTACH_ALL := $(addprefix $(ATTACH_DIR)/,driver target target-nopie target-static target-static-pie)
TESTS += $(ATTACH_ALL)
.PHONY: attach-tests
attach-tests: $(ATTACH_ALL)
