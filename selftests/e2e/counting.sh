#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Bursts of code that counts, in programs that run: what comes of them, and what becomes of them when
# the program or the enrollment ends meanwhile.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
with_daemon
PATIENCE=180

# said NAME REGEX: is that among the program's events?
said() {
	halo -j explain "$PROGRAMS_DIR/halo/$1" | jq -r '.events[].text' | grep -Eq -e "$2"
}

# wait_said NAME WHAT REGEX
wait_said() {
	if wait_for $PATIENCE said "$1" "$3"; then
		tap_ok "$1: $2"
	else
		tap_not_ok "$1: $2" "$(halo explain "$PROGRAMS_DIR/halo/$1")"
	fi
}

# begin NAME: run it without an end, its output in $WORK/NAME
begin() {
	need_built "$PROGRAMS_DIR/halo/$1" "$PROGRAMS_DIR/plain/$1"
	"$PROGRAMS_DIR/halo/$1" --endless >"$WORK/$1" 2>/dev/null &
	PID=$!
	at_exit "end_process $PID"
	halo enroll "$PROGRAMS_DIR/halo/$1" >/dev/null
}

# finish NAME: it prints what a plain build prints that does as much
finish() {
	local rounds
	kill -TERM "$PID"
	wait "$PID" || tap_not_ok "$1: ends well" "exit status $?"
	rounds=$(awk '$1 == "rounds" { print $2 }' "$WORK/$1")
	tap_is "$1: same output as plain" "$("$PROGRAMS_DIR/plain/$1" --rounds "$rounds")" \
		"$(cat "$WORK/$1")"
}

for name in interp hashjoin; do
	begin $name
	wait_said $name "code that counts takes the root's place" ': counting, [1-9]'
	wait_said $name "something was counted" ': counted [1-9][0-9]* entries in [1-9]'
	wait_said $name "code is made with the counts" 'compiled v[0-9]+-profile|profile gives the same code'
	finish $name
	halo unenroll "$PROGRAMS_DIR/halo/$name" >/dev/null
done

# The end of the process, and of the enrollment, while code that counts is in the root's place.
begin nussinov
wait_said nussinov "code that counts takes the root's place" ': counting, [1-9]'
kill -KILL "$PID"
wait "$PID" 2>/dev/null || true
wait_for 20 state_is "$PROGRAMS_DIR/halo/nussinov" waiting enrolled optimizing idle || true
tap_run "the daemon still answers after the process ended" "$HALO_BPF" status
halo unenroll "$PROGRAMS_DIR/halo/nussinov" >/dev/null

begin lu
wait_said lu "code that counts takes the root's place" ': counting, [1-9]'
tap_run "lu: unenrolled while it is counted" "$HALO_BPF" unenroll "$PROGRAMS_DIR/halo/lu"
tap_run "the daemon still answers after that" "$HALO_BPF" status
finish lu

tap_done
