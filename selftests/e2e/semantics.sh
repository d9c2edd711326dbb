#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What C and C++ promise is kept while versions are switched: each case of selftests/semantics prints the
# same from a plain build, from a prepared one, and from a prepared one under torture; and the
# functions that it is about have really run as variants.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir

SOURCES=$SELFTESTS_DIR/semantics
need_built "$HALO_BPF" "$BUILD_DIR/halo-opt" "$HALO_CC" "$HALO_CXX"
. "$SOURCES/build.sh"

report() {
	jq -r "$1" "$WORK/report"
}

# Reasons for which functions are known to have no variant: "FUNCTION REASON", extended regular expressions.
EXPECTED_REFUSALS='
call_missing weak_missing may be missing
round_of_vectors linked
.*register_once.* atexit
.*round_of_exceptions.* thread
.*round_of_objects.* what it needs is missing
direct_threaded labels that are kept
constant_fma|newly_constant|round_of_fused a \* b \+ c of constants
'

unexpected_refusals() {
	local function reason known pattern
	while IFS=$'\t' read -r function reason; do
		known=
		while read -r f pattern; do
			[ -n "$f" ] && [[ $function =~ ^($f)$ ]] && grep -Eq "$pattern" <<<"$reason" && known=1
		done <<<"$EXPECTED_REFUSALS"
		[ -n "$known" ] || echo "$function: $reason"
	done < <(report '.refused[] | .function + "\t" + .reason')
}

# run_torture EXE SEED ARGUMENT…: under torture, output in $WORK/actual
run_torture() {
	local exe=$1 seed=$2 status=0
	shift 2
	rm -f "$WORK/probes" "$WORK/report"
	SEM_PROBES=$WORK/probes timeout 250 "$HALO_BPF" torture -j --hold --report "$WORK/report" --seed "$seed" \
		"$@" "$exe" >"$WORK/actual" 2>"$WORK/errors" || status=$?
	return "$status"
}

# check NAME SEED ARGUMENT…: of $WORK/NAME and $WORK/NAME.plain, which are built
check() {
	local name=$1 exe=$WORK/$1 status=0
	shift
	SEM_ROUNDS=2 "$exe.plain" >"$WORK/expected" || tap_not_ok "$name: plain build ends well" "$?"
	SEM_ROUNDS=2 "$exe" >"$WORK/dormant" || status=$?
	tap_run "$name: dormant: same output" diff "$WORK/expected" "$WORK/dormant"
	run_torture "$exe" "$@" || status=$?
	if [ "$status" -ne 0 ] || ! cmp -s "$WORK/expected" "$WORK/actual" || [ -n "$(report '.failed[]')" ]; then
		tap_not_ok "$name: switched: same output" "exit status $status" "$(head -5 "$WORK/errors")" \
			"$(head -c 3000 "$WORK/report")" "$(diff "$WORK/expected" "$WORK/actual" | head -20)"
		return
	fi
	tap_ok "$name: switched: same output"
}

# all_entered NAME: after a check of all functions
all_entered() {
	tap_is "$1: nothing else is refused" "" "$(unexpected_refusals)"
	tap_is "$1: all ran as the program's code and as variants" "" \
		"$(awk '!/^[?]/ && (!$2 || !$3) { print $1, "program", $2, "variant", $3 }' "$WORK/probes" 2>&1)"
}

# What may differ from one build to the next: how optimized, and how linked.
build c "-O2" ""
check c 1
all_entered c
build cxx "-O2" ""
check cxx 2
all_entered cxx

tap_done
