#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What variants have been wrong about, built in many ways, prints to the byte what a plain build does.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$SELFTESTS_DIR/e2e/torture/lib.sh"
need_root
work_dir

SOURCES=$SELFTESTS_DIR/e2e/torture
need_built "$HALO_BPF" "$BUILD_DIR/halo-opt" "$HALO_CC" "$HALO_CXX"

# build_cases CC CXX OUT FLAGS OTHER_FLAGS LINK_FLAGS: two sets of flags, for units in turn
build_cases() {
	local cc=$1 cxx=$2 out=$WORK/$3 flags=$4 other=$5 unit
	local common="-D_GNU_SOURCE -Wno-psabi"
	mkdir -p "$out.o"
	# What does not fit is undefined, and where shipped code has vectors, not even the same everywhere.
	# Links make vectors of what was compiled without.
	# shellcheck disable=SC2086 # lists of flags
	{
		for unit in state control main; do
			$cc $common $flags -c "$SOURCES/$unit.c" -o "$out.o/$unit.o"
		done
		$cc $common $other -c "$SOURCES/state2.c" -o "$out.o/state2.o"
		$cc $common $other -fno-vectorize -fno-slp-vectorize -fno-lto -c "$SOURCES/numbers.c" -o "$out.o/numbers.o"
		$cc $common $other -ffast-math -c "$SOURCES/fast.c" -o "$out.o/fast.o"
		if [ "$cxx" != none ]; then
			$cxx $common $flags -c "$SOURCES/objects.cc" -o "$out.o/objects.o"
			cc=$cxx
		fi
		$cc $flags $6 "$out.o"/*.o -lm -pthread -o "$out"
	}
}

# check_cases NAME FLAGS OTHER_FLAGS LINK_FLAGS
check_cases() {
	local name=$1
	shift
	if [[ $1 = *ONLY_C* ]]; then
		build_cases clang-19 none "$name.plain" "$@"
		build_cases "$HALO_CC" none "$name" "$@"
	else
		build_cases clang-19 clang++-19 "$name.plain" "$@"
		build_cases "$HALO_CC" "$HALO_CXX" "$name" "$@"
	fi
	"$WORK/$name.plain" 2 1920 >"$WORK/expected"
	torture "$WORK/actual" --hold --seed 1 "$WORK/$name" 2 1920
	switched "cases, $name" "$WORK/expected" "$WORK/actual"
	[ "$(report .compiled)" -ge 30 ] || tap_not_ok "cases, $name: most are compiled" "$(cat "$WORK/report")"
	[ "$(report .entered.variant)" -ge 1000 ] || tap_not_ok "cases, $name: variants are entered" "$(cat "$WORK/report")"
}

check_cases usual -O2 -O2 ""
check_cases c "-O2 -DONLY_C" -O2 ""
check_cases levels "-O1 -DONLY_C" -O3 ""
check_cases sizes "-Os -DONLY_C" -O0 ""
check_cases fixed "-O2 -fno-pie -DONLY_C" "-O2 -fno-pie" -no-pie
check_cases static "-O2 -DONLY_C" -O2 -static
check_cases hardened "-O2 -fcf-protection=full -fstack-protector-all" "-O2 -fno-omit-frame-pointer" -Wl,--gc-sections
# An exception that passes C aborts a plain program too, unless its C is built for them.
check_cases lto "-O2 -flto -fexceptions" "-O2 -flto -fexceptions" -fuse-ld=lld
check_cases thin "-O2 -flto=thin -fexceptions" "-Os -fexceptions" "-fuse-ld=lld -flto=thin"
check_cases machine "-O3 -march=native" "-O2 -fno-math-errno" ""

tap_done
