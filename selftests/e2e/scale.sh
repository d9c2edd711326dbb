#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Many processes of one program, each executed for itself: all are profiled at once, with few open
# files allowed, for no more kernel memory than one; and no end of one is missed. HALO_SCALE processes,
# 250 unless set (make bench-profile: 1,000). With -t FILE the figures go to FILE too.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
N=${HALO_SCALE:-250}
MAPS=/sys/fs/bpf/halo
figures=/dev/null
[ "${1-}" != -t ] || figures=$2
need_built "$HALO_BPF" "$HALO_CC"
[ "$(ulimit -Hu)" = unlimited ] || [ "$(ulimit -Hu)" -gt $((2 * N)) ] ||
	skip_all "fewer than $((2 * N)) processes are allowed"
"$HALO_CC" -O2 -static "$SELFTESTS_DIR/e2e/many.c" -o "$WORK/many"
ulimit -Sn 128
with_daemon

stat_of() {
	halo -j status | jq ".daemon.stats.$1"
}

followed() {
	bpftool -j map dump pinned "$MAPS/halo_proc" | jq length
}

# Bytes that the kernel side's maps take, and the store's files.
kernel_memory() {
	local map bytes=0
	for map in "$MAPS"/*; do
		bytes=$((bytes + $(bpftool -j map show pinned "$map" | jq '.bytes_memlock // 0')))
	done
	echo $((bytes + $(stat -f -c "(%b - %f) * %S" /run/halo-bpf/shm)))
}

# On-CPU ns of all processes of the program so far.
cpu_ns() {
	local pid ns=0 all=0
	for pid in "${pids[@]}"; do
		read -r ns _ <"/proc/$pid/schedstat" 2>/dev/null && all=$((all + ns))
	done
	echo "$all"
}

"$WORK/many" 1 1000 >/dev/null &
first=$!
at_exit 'kill -KILL $first $spawner 2>/dev/null'
spawner=
halo enroll "$WORK/many" >/dev/null
tap_run "one process is followed" wait_for 20 test "$(followed)" -eq 1
before=$(kernel_memory)

exec {answer}< <(exec "$WORK/many" 1 5000 "$N")
spawner=$!
read -r started <&"$answer"
tap_is "$N processes run" "$N" "$started"
all_followed() {
	[ "$(followed)" -ge $((N + 2)) ]
}
tap_run "all are followed: those that start while the daemon runs" wait_for 120 all_followed
halo unenroll "$WORK/many"
tap_is "none is when the program is not enrolled" 0 "$(followed)"
begin=$EPOCHREALTIME
halo enroll "$WORK/many" >/dev/null
tap_run "all are followed: those that run already" wait_for 120 all_followed
echo "start_s $(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')" >>"$figures"
tap_is "status has all of them" $((N + 2)) \
	"$(halo -j status | jq '.programs[0].pids | length')"

after=$(kernel_memory)
echo "kernel_bytes_one $before" >>"$figures"
echo "kernel_bytes_all $after" >>"$figures"
if [ $((after - before)) -le $((16 << 20)) ]; then
	tap_ok "kernel memory is no higher than for one by more than 16 MiB"
else
	tap_not_ok "kernel memory is no higher than for one by more than 16 MiB" \
		"$before bytes for one, $after for $N"
fi

# What is sampled is what they use: were some left out, it would be less.
mapfile -t pids < <(pgrep -f "$WORK/many")
samples=$(stat_of samples) cpu=$(cpu_ns)
enough() {
	[ $(($(stat_of samples) - samples)) -ge 200 ]
}
wait_for 120 enough || true
samples=$(($(stat_of samples) - samples)) cpu=$(($(cpu_ns) - cpu))
share=$(awk -v n="$samples" -v hz="$(halo -j status | jq .daemon.rate_hz)" -v ns="$cpu" \
	'BEGIN { printf "%.2f", n / hz / (ns / 1e9) }')
echo "sampled_share $share" >>"$figures"
if awk -v s="$share" 'BEGIN { exit !(s > 0.6 && s < 1.6) }'; then
	tap_ok "samples are as many as the processes' CPU time tells ($share)"
else
	tap_not_ok "samples are as many as the processes' CPU time tells" "$samples samples: $share"
fi
tap_is "no event is lost, no process left out" "0 0" "$(stat_of event_lost) $(stat_of proc_full)"

tap_is "files are not too few" 0 "$(grep -c "open files" "$DAEMON_LOG" || true)"

kill -KILL "$first" "$spawner"
none_followed() {
	[ "$(followed)" -eq 0 ]
}
tap_run "the end of each is seen by the kernel side" wait_for 120 none_followed
no_pids() {
	[ "$(halo -j status | jq '.programs[0].pids | length')" -eq 0 ]
}
tap_run "and by the daemon" wait_for 120 no_pids
tap_done
