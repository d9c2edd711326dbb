# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by tests that run suites under torture, after selftests/lib.sh and e2e/torture/lib.sh.

SUITE=$SELFTESTS_DIR/apps/suite.sh
SUITES_DIR=$BUILD_DIR/apps/suites

# Anew when the compiler, or what it adds to a program, is another.
halo_dir() {
	local id
	id=$(cat "$BUILD_DIR"/halo-{cc,begin.o,end.o,stub.o,unwind.o,prepare.so} | sha256sum | cut -c1-12)
	echo "$SUITES_DIR/halo-$id/$1"
}

# One line of what became of the program's functions, for those who read the log.
suite_summary() {
	report '"# \(.redirectable) redirectable, \(.compiled) variants, \(.refused | length) refused; "
		+ "\(.processes) processes, \(.missed) missed; \(.switches) switches; "
		+ "entered: \(.entered.original) originals, \(.entered.variant) variants"'
}

# suite_part NAME PART PROGRAM: passes and prints the same with and without.
suite_part() {
	local name=$1 part=$2 program=$3 title="$1, $2"
	if ! "$SUITE" run "$name" "$SUITES_DIR/plain/$name" "$part" >"$WORK/expected" 2>"$WORK/errors"; then
		tap_not_ok "$title: passes when built with clang" "$(tail -20 "$WORK/errors")"
		return
	fi
	torture "$WORK/actual" --hold --seed "${HALO_SEED:-1}" --program "$halo/$program" \
		"$SUITE" run "$name" "$halo" "$part"
	switched "$title" "$WORK/expected" "$WORK/actual"
	suite_summary
	[ "$(report .compiled)" != 0 ] || tap_not_ok "$title: has variants" "$(cat "$WORK/report")"
}

# suite NAME [PART…]: some parts, or all.
suite() {
	local name=$1 part program halo
	shift
	halo=$(halo_dir "$name")
	if ! "$SUITE" fetch "$name" >"$WORK/fetch.log" 2>&1; then
		tap_skip "$name" "its source can't be fetched: $(tail -1 "$WORK/fetch.log")"
		return
	fi
	tap_run "$name builds with clang" "$SUITE" build "$name" clang-19 clang++-19 "$SUITES_DIR/plain/$name"
	tap_run "$name builds" "$SUITE" build "$name" "$HALO_CC" "$HALO_CXX" "$halo"
	while read -r part program; do
		[ $# -eq 0 ] || [[ " $* " == *" $part "* ]] || continue
		suite_part "$name" "$part" "$program"
	done < <("$SUITE" parts "$name")
}
