#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A daemon that is killed leaves programs as they are, and the next one takes over what it finds:
# enrollments, images, the code that each process runs.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
PROGRAM=$PROGRAMS_DIR/halo/perlin
need_built "$HALO_BPF" "$PROGRAM"

kill_daemon() {
	kill -KILL "$DAEMON_PID"
	wait_for 20 process_ended "$DAEMON_PID" || true
}

start_again() {
	wait_for 20 halo -j start || true
	DAEMON_PID=$(halo -j status | jq -r .daemon.pid)
}

pids_of() {
	program_status "$1" | jq -r '.pids[] | "\(.pid) \(.attached)"' | sort
}

attached() {
	[ "$(pids_of "$1")" = "$2" ]
}

# What a section runs, and what is known of it.
sections() {
	program_status "$PROGRAM" | jq -c '.sections[] | select(.root == "noise_line") | [.root, .version, .state, .speedup]'
}

# slots_of PID: the words of the process's slots
slots_of() {
	local start
	start=$(sed -n 's/^\([0-9a-f]*\)-.* r--s .*\/slots-[0-9]*$/\1/p' "/proc/$1/maps")
	dd if="/proc/$1/mem" bs=4096 skip=$((0x$start / 4096 + 2)) count=1 status=none |
		od -An -tx8 -v -w8 | sed 's/^ *//' | sort -u
}

# runs_variant PID HASH: does the slot of noise_line lead to what was adopted for it?
runs_variant() {
	local entry arena hash
	hash=$2
	entry=$(jq --argjson gib $((1 << 30)) '.variants[.sections[] |
		select(.function == "noise_line") | .adopted].entry + $gib' <"$WORK/record")
	arena=$(sed -n "s/^\([0-9a-f]*\)-.*\/arena-$hash\$/\1/p" "/proc/$1/maps")
	slots_of "$1" | grep -q "$(printf '%016x' $((0x$arena + entry)))"
}

# One program that is optimized, one that does little; a family of three, and a loner.
cat >"$WORK/app.c" <<-END
	#include <stdio.h>
	#include <unistd.h>

	__attribute__((noinline)) unsigned long work(unsigned long n)
	{
		unsigned long sum = 0;

		for (unsigned long i = 0; i < n; i++)
			sum += i * i ^ sum >> 3;
		return sum;
	}

	int main(int argc, char **argv)
	{
		volatile unsigned long sum = 0;

		if (argc > 1) {
			while (access(argv[1], F_OK))
				usleep(1000);
			fork();
		}
		for (;;) {
			sum += work(100);
			usleep(1000);
		}
	}
END
"$HALO_CC" -O2 -o "$WORK/app" "$WORK/app.c"

with_daemon
halo enroll "$PROGRAM" >/dev/null
halo enroll --fp contract "$WORK/app" >/dev/null
"$PROGRAM" --endless >/dev/null 2>&1 &
pid=$!
at_exit "end_process $pid"
"$WORK/app" "$WORK/go" &
parent=$!
"$WORK/app" &
loner=$!
at_exit "end_process $loner; pkill -KILL -x app -P $parent; end_process $parent"
wait_for 120 state_is "$PROGRAM" optimized || true
wait_for 20 attached "$WORK/app" "$(printf '%s true\n' "$parent" "$loner" | sort)" || true
sleep 1
before=$(sections)
hash=$(program_status "$PROGRAM" | jq -r .hash)
cp "/run/halo-bpf/shm/program-$hash" "$WORK/record"
tap_run "and the program runs it" runs_variant "$pid" "$hash"
tap_like "a variant was adopted" '"v[0-9]+-' "$before"

kill_daemon
tap_run "while there is no daemon, it still does" runs_variant "$pid" "$hash"
touch "$WORK/go"
wait_for 20 pgrep -x app -P "$parent" || true
child=$(pgrep -x app -P "$parent" || echo none)
start_again
wait_for 20 attached "$PROGRAM" "$pid true" || true
tap_is "the next daemon has adopted the process" "$pid true" "$(pids_of "$PROGRAM")"
tap_is "status shows the same variants as before" "$before" "$(sections)"
tap_run "the program runs what it ran" runs_variant "$pid" "$hash"
all=$(printf '%s true\n' "$parent" "$loner" "$child" | sort)
wait_for 20 attached "$WORK/app" "$all" || true
tap_is "a child that was forked meanwhile is adopted with its parent" "$all" \
	"$(pids_of "$WORK/app")"
tap_is "two families, as before" 2 "$(
	bpftool -j map dump pinned /sys/fs/bpf/halo/halo_proc | jq -r --argjson a "[$parent,$child,$loner]" \
		'.[].formatted | select(.key | IN($a[])) | .value.family' | sort -u | wc -l
)"
tap_is "the floating-point policy is kept" contract "$(program_status "$WORK/app" | jq -r .fp)"

halo unenroll "$PROGRAM" >/dev/null
if runs_variant "$pid" "$hash"; then
	tap_not_ok "its slots can be switched again"
else
	tap_ok "its slots can be switched again"
fi
halo enroll "$PROGRAM" >/dev/null
wait_for 120 state_is "$PROGRAM" optimized || true
tap_like "audits go on" '"v[0-9]+-.*"adopted"' "$(sections)"

# Over and over, at any moment of its work: nothing is left behind.
count_files() {
	ls /run/halo-bpf/shm | grep -v new | sed 's/-.*//' | sort | uniq -c | xargs
}
files=$(count_files)
pins=$(ls /sys/fs/bpf/halo | wc -l)
started=()
for i in $(seq 20); do
	HALO_SOCKET=$([ $((i % 2)) -eq 0 ] && echo "$WORK/none") "$WORK/app" &
	started+=($!)
	at_exit "end_process $!"
	sleep "0.$(printf '%02d' $((i * 2)))"
	kill_daemon
	start_again
done
all=$(printf '%s true\n' "$parent" "$loner" "$child" "${started[@]}" | sort)
wait_for 60 attached "$WORK/app" "$all" || true
tap_is "20 daemons later all are attached" "$all" "$(pids_of "$WORK/app")"
program_status "$WORK/app" | jq -r '.pids[] | select(.attached | not) | "# \(.pid): \(.reason)"'
for app in "${started[@]}"; do
	end_process "$app"
done
all=$(printf '%s true\n' "$parent" "$loner" "$child" | sort)
wait_for 20 attached "$WORK/app" "$all" || true
tap_is "when those are gone nothing is left in the store" "$files" "$(count_files)"
tap_is "and there are as many maps as before" "$pins" "$(ls /sys/fs/bpf/halo | wc -l)"
stop_daemon
tap_is "a daemon that is stopped leaves no store" "" "$(find /run/halo-bpf/shm -type f)"
tap_done
