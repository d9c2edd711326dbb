#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs whose functions are all switched at random print to the byte what plain builds do.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir

SOURCES=$SELFTESTS_DIR/e2e/torture
APPS_DIR=$BUILD_DIR/apps
need_built "$HALO_BPF" "$BUILD_DIR/halo-opt" "$HALO_CC" "$HALO_CXX"

# torture OUTPUT ARGUMENT…: the report is in $WORK/report, the exit status in $status
torture() {
	local output=$1
	shift
	status=0
	timeout 200 "$HALO_BPF" torture -j --report "$WORK/report" "$@" >"$output" 2>"$WORK/errors" || status=$?
}

report() {
	jq -r "$1" "$WORK/report"
}

# switched TEXT EXPECTED OUTPUT: what must be true after each run
switched() {
	local failed
	if [ "$status" -ne 0 ] || ! cmp -s "$2" "$3"; then
		tap_not_ok "$1: same output" "exit status $status" "$(head -5 "$WORK/errors")" "$(cat "$WORK/report")" \
			"$(diff "$2" "$3" | head -10)"
		return
	fi
	failed=$(report '.failed[] | .function + ": " + .reason')
	if [ -n "$failed" ] || [ -n "$(report .not_attached)" ]; then
		tap_not_ok "$1: nothing fails" "$failed" "$(report .not_attached)"
		return
	fi
	tap_ok "$1: same output"
}

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

for expected in "$SELFTESTS_DIR"/programs/expected/*; do
	name=$(basename "$expected")
	rounds=$(awk '$1 == "rounds" { print $2 }' "$expected")
	torture "$WORK/actual" --hold --seed 2 "$PROGRAMS_DIR/halo/$name" --rounds "$rounds"
	switched "$name" "$expected" "$WORK/actual"
done

# Switched from outside, and set back after a second.
"$PROGRAMS_DIR/halo/perlin" --endless >"$WORK/perlin" 2>/dev/null &
pid=$!
at_exit "end_process $pid"
torture /dev/null --seed 3 --seconds 1 "$pid"
tap_is "a running program: exit status" 0 "$status"
tap_is "a running program: attached" 1 "$(report .processes)"
torture "$WORK/again" --seed 3 --seconds 1 "$pid"
tap_is "a second time: refused" 1 "$status"
tap_like "a second time: with the reason" 'attached already' "$(cat "$WORK/errors" "$WORK/again")"
kill -TERM "$pid"
wait "$pid" || tap_not_ok "a running program: ends well" "exit status $?"
rounds=$(awk '$1 == "rounds" { print $2 }' "$WORK/perlin")
tap_is "a running program: same output" "$("$PROGRAMS_DIR/plain/perlin" --rounds "$rounds")" "$(cat "$WORK/perlin")"

# Through something that starts it, of which there may be several.
exe=$PROGRAMS_DIR/halo/perlin
for rounds in 50 60; do
	"$PROGRAMS_DIR/plain/perlin" --rounds "$rounds"
done >"$WORK/expected"
torture "$WORK/actual" --seed 4 --program "$exe" sh -c "'$exe' --rounds 50; '$exe' --rounds 60; exit 7"
tap_is "two processes, one after the other: same output" "$(cat "$WORK/expected")" "$(cat "$WORK/actual")"
tap_is "two processes: both attached" 2 "$(report .processes)"
tap_is "the exit status is the program's" 7 "$status"
torture /dev/null --program "$exe" sh -c 'kill -SEGV $$'
tap_is "so is the signal that it dies of" 139 "$status"
torture "$WORK/actual" true
tap_like "a program that is not prepared: said so" 'halo-cc' "$(cat "$WORK/errors" "$WORK/actual")"
tap_is "nothing is left behind" "" "$(find /run -maxdepth 1 -name 'halo-bpf-torture-*')"

# The same seed, the same choice.
choice() {
	torture /dev/null --seed "$1" --hold --functions 2 "$PROGRAMS_DIR/halo/lu" --seconds 4
	report '[.compiled, .refused[].function] | join(" ")'
}
tap_is "a seed chooses what it chose before" "$(choice 77)" "$(choice 77)"

# app NAME SEED: sources are fetched, or there already
app() {
	local name=$1 exe=$WORK/apps/$1
	if ! "$SELFTESTS_DIR/apps/app.sh" fetch "$name" >"$WORK/fetch.log" 2>&1; then
		tap_skip "$name: same output" "its source can't be fetched: $(tail -1 "$WORK/fetch.log")"
		return
	fi
	tap_run "$name builds" "$SELFTESTS_DIR/apps/app.sh" build "$name" "$HALO_CC" "$HALO_CXX" -O2 "$WORK/apps"
	[ -x "$APPS_DIR/plain/$name" ] ||
		"$SELFTESTS_DIR/apps/app.sh" build "$name" clang-19 clang++-19 -O2 "$APPS_DIR/plain" >"$WORK/build.log" 2>&1
	"$SELFTESTS_DIR/apps/app.sh" run "$name" "$APPS_DIR/plain/$name" >"$WORK/expected" 2>/dev/null
	torture "$WORK/actual" --hold --functions 12 --seed "$2" --program "$exe" \
		"$SELFTESTS_DIR/apps/app.sh" run "$name" "$exe"
	switched "$name" "$WORK/expected" "$WORK/actual"
}
app lua 5
app bzip2 6

tap_done
