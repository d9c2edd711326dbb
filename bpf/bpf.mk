# SPDX-License-Identifier: BSD-2-Clause
# BPF programs: compiled by clang, linked into one object, wrapped into a skeleton header.

# maps.bpf.o comes first: the linker of libbpf 1.1 loses the place of a map whose definition follows a
# reference to it.
BPF_SRC := bpf/maps.bpf.c $(filter-out bpf/maps.bpf.c,$(wildcard bpf/*.bpf.c))
BPF_OBJ := $(BPF_SRC:%.c=$(O)/%.o)
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 -Ivmlinux -Ibpf \
	      -Wall -Wextra -Werror -Wno-unused-parameter

$(O)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h vmlinux/*.h)
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(BUILD)/bpf/halo.skel.h: $(BPF_OBJ)
	$(call msg,SKEL,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen object $(O)/bpf/halo.linked.o $(BPF_OBJ)
	$(Q)$(BPFTOOL) gen skeleton $(O)/bpf/halo.linked.o name halo_bpf > $@

$(filter $(O)/user/kernel/%,$(HALO_BPF_OBJ)): $(BUILD)/bpf/halo.skel.h
