# SPDX-License-Identifier: BSD-2-Clause
#
# make               build into build/ (V=1 shows whole command lines)
# sudo make check    install what is missing, build, test
# sudo make check-matrix  the tests of kernels, on all kernels that the mirror has, under QEMU
# sudo make check-long    the tests that take long: real programs' own test suites under torture
# sudo make demo     install what is missing, build, make real programs faster
# make bench-NAME    measurements, see docs/benchmarks.md
# sudo make install    into prefix=/usr/local; DESTDIR for packages
#
# Each folder's own NAME.mk says what is built from it.

BUILD ?= build
O := $(BUILD)/obj

CC := gcc
CXX := g++
CLANG := clang-19
BPFTOOL := bpftool
LLVM_CONFIG := llvm-config-19
PKG_CONFIG := pkg-config

ifeq ($(V),1)
Q :=
msg :=
else
Q := @
msg = @printf '  %-8s %s\n' '$(1)' '$(patsubst $(BUILD)/%,%,$(2))';
MAKEFLAGS += --no-print-directory
endif

WARNINGS := -Wall -Wextra -Werror -Wshadow -Wmissing-prototypes -Wstrict-prototypes \
	    -Wold-style-definition -Wpointer-arith -Wwrite-strings -Wvla -Wundef
CPPFLAGS := -D_GNU_SOURCE -Iuser/include -Ibpf
CFLAGS := -std=gnu11 -O2 -g -fno-strict-aliasing -fstack-protector-strong $(WARNINGS)
LDFLAGS := -Wl,-z,relro,-z,now -Wl,--as-needed

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

ALL :=
DEPS :=

include user/user.mk
include bpf/bpf.mk
include optimizer/optimizer.mk
include tools/tools.mk
include selftests/selftests.mk
include tools/package/install.mk

.PHONY: all clean check check-matrix check-long demo bench
all: $(ALL)

$(O)/%.o: %.c | $(BUILD)/bpf/halo.skel.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CPPFLAGS_$(firstword $(subst /, ,$*))) $(CFLAGS) -MMD -MP -c $< -o $@

-include $(shell test -d $(O) && find $(O) -name '*.d')

clean:
	$(Q)rm -rf $(BUILD)

check:
	$(Q)tools/install-deps.sh
	$(Q)$(MAKE) all tests
	$(Q)selftests/run.sh
	$(Q)selftests/vm/run -m quick 5.10 6.1 newest

check-matrix:
	$(Q)tools/install-deps.sh
	$(Q)$(MAKE) all tests programs
	$(Q)selftests/vm/run -j 2 all

check-long:
	$(Q)tools/install-deps.sh
	$(Q)$(MAKE) all tests
	$(Q)selftests/run.sh -l

demo:
	$(Q)tools/install-deps.sh
	$(Q)$(MAKE) all
	$(Q)selftests/bench/demo.sh
