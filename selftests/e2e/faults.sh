#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What goes wrong after a program was enrolled costs it nothing: it goes on, with the same output,
# and status says what happened.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
PROGRAM=$PROGRAMS_DIR/halo/perlin
ROUNDS=40000
need_built "$PROGRAM" "$PROGRAMS_DIR/plain/perlin"
"$PROGRAMS_DIR/plain/perlin" --rounds "$ROUNDS" >"$WORK/expected"

# The program's reason and its sections' in status.
reasons() {
	program_status "$1" | jq -r '[.reason, .sections[].reason] | join("\n")'
}

# goes_on TEXT EXE REGEX: run it enrolled to its end; status says why nothing was won
goes_on() {
	local text=$1 exe=$2 regex=$3 pid status=0
	"$exe" --rounds "$ROUNDS" >"$WORK/output" 2>&1 &
	pid=$!
	at_exit "end_process $pid"
	halo enroll "$exe" >/dev/null
	if wait_for 60 state_is "$exe" failed "nothing to gain"; then
		tap_ok "$text: settled"
	else
		tap_not_ok "$text: settled" "$(program_status "$exe")"
	fi
	tap_like "$text: status says why" "$regex" "$(reasons "$exe"; halo explain "$exe")"
	if wait "$pid"; then
		tap_ok "$text: the program ends well"
	else
		tap_not_ok "$text: the program ends well" "exit status $?"
	fi
	tap_is "$text: its output is that of the plain build" "$(cat "$WORK/expected")" \
		"$(cat "$WORK/output")"
	halo unenroll "$exe" >/dev/null
}

with_daemon HALO_FAILPOINT=opt-crash
goes_on "the worker crashes" "$PROGRAM" "worker died: Aborted"
stop_daemon

with_daemon
objcopy --dump-section .halo.bc="$WORK/bitcode" "$PROGRAM" /dev/null
dd if=/dev/zero of="$WORK/bitcode" bs=1 seek=100 count=200 conv=notrunc status=none
objcopy --update-section .halo.bc="$WORK/bitcode" "$PROGRAM" "$WORK/corrupt"
chmod +x "$WORK/corrupt"
goes_on "the bitcode is damaged" "$WORK/corrupt" "bitcode"

# Died by a signal: a fault of the program is held against its variants, what kill(2) sends is not.
cat >"$WORK/fault.c" <<-END
	#include <signal.h>

	static void fault(int sig)
	{
		*(volatile int *)8 = sig;
	}

	__attribute__((constructor)) static void init(void)
	{
		signal(SIGUSR1, fault);
	}
END
gcc -shared -fPIC -o "$WORK/fault.so" "$WORK/fault.c"
exe=$WORK/perlin
cp "$PROGRAM" "$exe"
halo enroll "$exe" >/dev/null
LD_PRELOAD=$WORK/fault.so "$exe" --endless >/dev/null 2>&1 &
first=$!
LD_PRELOAD=$WORK/fault.so "$exe" --endless >/dev/null 2>&1 &
second=$!
at_exit "end_process $first; end_process $second"
gone() {
	! program_status "$exe" | jq -e ".pids[] | select(.pid == $1)"
}
tap_run "a variant is in use" wait_for 120 has_section "$exe" adopted
kill -SEGV "$first"
wait "$first" 2>/dev/null || true
wait_for 20 gone "$first" || true
tap_run "a process that is sent SIGSEGV: the others keep their variant" has_section "$exe" adopted
kill -USR1 "$second"
wait "$second" 2>/dev/null || true
tap_run "one that faults while a variant is in use: it is given up" wait_for 20 state_is "$exe" failed
tap_like "and status says why" "died of Segmentation fault" "$(reasons "$exe")"

tap_run "the daemon still answers" "$HALO_BPF" status
tap_done
