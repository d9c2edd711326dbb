#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The whole way on this kernel, once: a program is enrolled, attached and sampled, a variant is compiled,
# switched to and measured, and the program goes back to its own code; its output stays the same. And code
# that needs no compiler is injected, for machines that are too slow to compile any in time.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
exe=$PROGRAMS_DIR/halo/perlin
rounds=2000
need_built "$HALO_BPF" "$BUILD_DIR/halo-opt" "$exe"

expected=$(HALO_DISABLE=1 "$exe" --rounds $rounds)
with_daemon
halo enroll "$exe" >/dev/null

attached() {
	program_status "$exe" | jq -e 'any(.pids[]; .attached)'
}
sampled() {
	[ -n "$(halo profile "$exe" --format folded 2>/dev/null)" ]
}
# A stub waits 200 ms for the daemon, which may be too little in an emulated machine: started again then.
for _ in 1 2 3 4 5; do
	"$exe" --endless >"$WORK/out" 2>/dev/null &
	pid=$!
	wait_for 10 attached && break
	end_process "$pid"
done
at_exit "end_process $pid"
tap_run "a process that starts is attached" attached
tap_run "it is sampled, with contexts" wait_for 60 sampled
seconds=120
[ "${HALO_VM_KERNEL:-running}" = running ] || seconds=60
if wait_for $seconds has_section "$exe" adopted; then
	tap_ok "a variant is compiled, measured and adopted"
elif [ "${HALO_VM_KERNEL:-running}" != running ]; then
	tap_skip "a variant is compiled, measured and adopted" "none in $seconds s, in an emulated machine"
else
	tap_not_ok "a variant is compiled, measured and adopted" "$(program_status "$exe")" \
		"$(halo explain "$exe" 2>&1 | tail -40)" "$(tail -20 "$DAEMON_LOG")"
fi
tap_is "a process that starts with the variant prints the same" "$expected" "$("$exe" --rounds $rounds)"
tap_run "unenroll goes back to the program's own code" halo unenroll "$exe"
tap_is "and it prints the same" "$expected" "$("$exe" --rounds $rounds)"
kill -TERM "$pid"
status=0
wait "$pid" || status=$?
tap_is "the process that was switched there and back ends well" 0 "$status"

# In a system call, since kernels before 5.13 do not tell whether other threads may be stopped.
dir=$BUILD_DIR/selftests/e2e/attach
mkfifo "$WORK/input"
exec 9<>"$WORK/input"
"$dir/target" read <"$WORK/input" >"$WORK/target" 2>&1 &
target=$!
wait_for 20 grep -q ready "$WORK/target"
timeout 60 "$dir/driver" inject "$dir/target" "$target" >"$WORK/inject" 2>&1 &
injector=$!
wait_for 20 grep -q . "$WORK/inject" || true
echo >&9
wait "$injector" || true
tap_like "other code is injected into a process that runs, and it goes back to its own" switched "$(<"$WORK/inject")"
status=0
wait "$target" || status=$?
tap_is "which it does not notice" 0 "$status"
tap_done
