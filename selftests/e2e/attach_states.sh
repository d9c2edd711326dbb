#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program is attached whatever it is doing, sees nothing of it, and may do afterwards what any program
# may: drop rights, close everything, forbid itself all system calls. Its code is switched all the same.
set -euo pipefail
# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=selftests/e2e/attach/lib.sh
. "$(dirname "$0")/attach/lib.sh"

# With the number of the system call in which the program must be found.
while read -r mode number; do
	begin "$dir/target" "$mode"
	[ -z "$number" ] || wait_for 20 asleep "$target" "$number"
	tap_like "$mode: attached, and switched" "switched" "$(inject "$dir/target" || true)"
	noticed_nothing "$mode"
done <<-END
	hundred
	poll 7
	futex 202
	wait 61
	recv 45
	handler
	unchanged
	children
	setuid
	chroot
	strict
	filter
	closefrom
	rlimit
	mlockall
END

# Ten times, since it may be outside when it is stopped first.
if [ -e /usr/include/x86_64-linux-gnu/sys/rseq.h ]; then
	for _ in $(seq 10); do
		begin "$dir/target" sequence
		inject "$dir/target" >"$WORK/inject" || true
		status=0
		wait "$target" || status=$?
		[ "$status" -eq 0 ] || break
	done
	tap_is "a restartable sequence is not diverted" "0 switched" "$status $(tail -1 "$WORK/inject")"
else
	tap_skip "a restartable sequence is not diverted" "this C library has none"
fi

# In the middle of something else: it may be attached, or not, and goes on.
for mode in executing ending; do
	for i in $(seq 12); do
		begin "$dir/target" "$mode"
		sleep "0.0$(printf '%02d' $((i * 3)))"
		timeout 60 "$driver" try "$dir/target" "$target" >"$WORK/inject" 2>&1 || true
		status=0
		wait "$target" || status=$?
		[ "$status" -eq 0 ] || break
	done
	tap_is "$mode: it noticed nothing, whenever it was attached" 0 "$status"
	[ "$status" -eq 0 ] || sed 's/^/# /' "$WORK/target" "$WORK/inject"
done
tap_done
