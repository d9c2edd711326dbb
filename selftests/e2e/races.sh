#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A daemon that looks late, when processes and files are not any more what they were, mistakes none
# for another.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
need_built "$HALO_BPF" "$HALO_CC"
work_dir

# Goes to the background as daemons do, each step when the one before has ended, and says its pid.
cat >"$WORK/app.c" <<-END
	#include <stdio.h>
	#include <stdlib.h>
	#include <unistd.h>

	__attribute__((noinline)) unsigned long work(unsigned long n)
	{
		unsigned long sum = 0;

		for (unsigned long i = 0; i < n; i++)
			sum += i * i ^ sum >> 3;
		return sum;
	}

	static void leave_parent(void)
	{
		pid_t parent = getpid();

		if (fork())
			_exit(0);
		while (getppid() == parent)
			usleep(1000);
	}

	int main(int argc, char **argv)
	{
		unsigned long sum = 0;

		if (argc > 1) {
			while (access(argv[1], F_OK))
				usleep(1000);
			leave_parent();
			leave_parent();
		}
		printf("%d\n", getpid());
		fflush(stdout);
		for (;;)
			sum += work(STEP);
		return (int)sum;
	}
END
app=$WORK/app
"$HALO_CC" -O2 -DSTEP=1000 -o "$app" "$WORK/app.c"
"$HALO_CC" -O2 -DSTEP=2000 -o "$WORK/other" "$WORK/app.c"

pids_of() {
	program_status "$app" | jq -r '.pids[] | "\(.pid) \(.attached)"'
}

# begin COMMAND…: in the background, until app says its pid: $pid
begin() {
	rm -f "$WORK/pid"
	"$@" >"$WORK/pid" &
	at_exit 'end_process "$(cat "$WORK/pid")"'
	wait_for 20 test -s "$WORK/pid" || true
	pid=$(cat "$WORK/pid")
}

attached() {
	[ "$(pids_of)" = "$1 true" ]
}

# The value of a file's entry in halo_inode: what the kernel side takes it for; nothing: unknown.
known_as() {
	bpftool -j map dump pinned /sys/fs/bpf/halo/halo_inode |
		jq --argjson ino "$(stat -c %i "$1")" '.. | objects | select(.key?.ino? == $ino) | .value'
}

with_daemon
at_exit 'kill -CONT "${DAEMON_PID:-$$}"'
halo enroll "$app" >/dev/null

# All of a family that the daemon knows is gone before it hears of the last one's birth.
"$app" "$WORK/go" >"$WORK/pid" &
starter=$!
at_exit 'end_process "$(cat "$WORK/pid")"'
wait_for 20 attached "$starter" || true
kill -STOP "$DAEMON_PID"
touch "$WORK/go"
wait_for 20 test -s "$WORK/pid" || true
kill -CONT "$DAEMON_PID"
pid=$(cat "$WORK/pid")
wait_for 20 attached "$pid" || true
tap_is "a grandchild whose parents are gone shares its slots with them" "$pid true" "$(pids_of)"
end_process "$pid"

# The same while it is not enrolled: nobody is told of its birth.
rm -f "$WORK/go" "$WORK/pid"
"$app" "$WORK/go" >"$WORK/pid" &
starter=$!
wait_for 20 attached "$starter" || true
halo unenroll "$app" >/dev/null
touch "$WORK/go"
wait_for 20 test -s "$WORK/pid" || true
halo enroll "$app" >/dev/null
pid=$(cat "$WORK/pid")
wait_for 20 attached "$pid" || true
tap_is "one born while its program was not enrolled does, too" "$pid true" "$(pids_of)"
end_process "$pid"

# The first file that a process executes is not what it executes in the end.
cp "$(command -v env)" "$WORK/first"
kill -STOP "$DAEMON_PID"
begin "$WORK/first" "$app"
kill -CONT "$DAEMON_PID"
wait_for 20 attached "$pid" || true
tap_is "a program that another executes is followed" "$pid true" "$(pids_of)"
end_process "$pid"
tap_is "what executes an enrolled program is not taken for it" "" "$(known_as "$WORK/first")"

# A process that has ended tells nothing of its file.
cp /bin/true "$WORK/short"
kill -STOP "$DAEMON_PID"
"$WORK/short"
kill -CONT "$DAEMON_PID"
halo status >/dev/null
tap_is "a file that could not be looked at is looked at again" "" "$(known_as "$WORK/short")"

# Once seen, then built anew.
cp "$WORK/other" "$WORK/replaced"
begin "$WORK/replaced"
id=$(readelf -n "$WORK/replaced" | awk '/Build ID/ { print $3 }')
halo status >/dev/null
end_process "$pid"
rm "$WORK/replaced"
cp "$app" "$WORK/replaced"
status=0
output=$(halo enroll "$id" 2>&1) || status=$?
tap_is "a build-id that is gone: exit status" 1 "$status"
tap_like "a build-id that is gone: what and why" "$WORK/replaced has another build-id now" "$output"
tap_done
