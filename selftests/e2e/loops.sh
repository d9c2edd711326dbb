#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that never come back to a function: all of their work is in one loop of main(), or in one
# call of an interpreter. They are made faster while they run.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
need_built "$HALO_CC"
work_dir
with_daemon
src=$SELFTESTS_DIR/build/loops
export HALO_LOOPS=1
PATIENCE=180

# events EXE REGEX: is there one?
said() {
	halo -j explain "$1" | jq -r '.events[].text' | grep -Eq -e "$2"
}

# begin NAME: built twice, running without an end, enrolled
begin() {
	clang-19 -O2 "$src/$1.c" -o "$WORK/$1.plain"
	"$HALO_CC" -O2 "$src/$1.c" -o "$WORK/$1"
	"$WORK/$1" >"$WORK/$1.out" &
	PID=$!
	at_exit "end_process $PID"
	halo enroll "$WORK/$1" >/dev/null
}

# finish NAME LINE: as many rounds by the plain build print the same
finish() {
	kill -TERM "$PID"
	wait "$PID" || tap_not_ok "$1: ends well" "exit status $?"
	tap_is "$1: same output as plain" \
		"$("$WORK/$1.plain" "$(sed -n "1s/^$2//p" "$WORK/$1.out")")" "$(cat "$WORK/$1.out")"
	halo unenroll "$WORK/$1" >/dev/null
}

begin nest
if wait_for $PATIENCE has_section "$WORK/nest" adopted; then
	tap_ok "a loop of main() runs faster code"
else
	tap_not_ok "a loop of main() runs faster code" "$(halo explain "$WORK/nest")"
fi
tap_like "it is a loop that was adopted" '^main\.loop\.[0-9]+$' \
	"$(program_status "$WORK/nest" | jq -r '.sections[] | select(.state == "adopted") | .root')"
finish nest 'rounds '

begin machine
if wait_for $PATIENCE said "$WORK/machine" 'interpret\.loop\.1: (adopted|rolled back) '; then
	tap_ok "an interpreter runs other code, and is audited"
else
	tap_not_ok "an interpreter runs other code, and is audited" "$(halo explain "$WORK/machine")"
fi
wait_for $PATIENCE said "$WORK/machine" 'interpret\.loop\.1: counted [1-9]' || true
tap_like "an interpreter is counted in the middle" 'loop\.1: counted [1-9]' \
	"$(halo -j explain "$WORK/machine" | jq -r '.events[].text')"
finish machine ''

tap_done
