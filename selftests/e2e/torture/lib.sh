# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by tests that torture programs, after selftests/lib.sh.

# torture OUTPUT ARGUMENT…: the report is in $WORK/report, the exit status in $status
torture() {
	local output=$1
	shift
	status=0
	"$HALO_BPF" torture -j --report "$WORK/report" "$@" >"$output" 2>"$WORK/errors" || status=$?
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
	# On a loaded machine a stub may not get its answer in time; but most have to.
	if [ -n "$failed" ] || [ "$(report '.missed * 4 > .processes')" = true ]; then
		tap_not_ok "$1: nothing fails" "$failed" "$(report .not_attached)"
		return
	fi
	tap_ok "$1: same output"
}
