#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What start says, and does, where the kernel gives less: no BTF, no perf events without privilege, not
# root, a kernel on the list of those that freeze. Lockdown comes last, since it can't be lifted: only in
# a machine of its own.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
need_built "$HALO_BPF"
daemon_absent || { tap_not_ok "no other daemon runs" && tap_done; }

# start COMMAND…: "ok", or the error, of halo-bpf start by the command, in which @ is halo-bpf.
start() {
	local status=0
	"${@/#@/$HALO_BPF}" start >"$WORK/start" 2>&1 || status=$?
	halo stop >/dev/null 2>&1 || true
	wait_for 20 daemon_absent
	[ "$status" -ne 0 ] && cat "$WORK/start" || echo ok
}

# with_btf [FILE]: halo-bpf start where the kernel shows no BTF
with_btf() {
	local status=0
	cp /sys/kernel/btf/vmlinux "$WORK/btf"
	unshare --mount bash -c 'mount -t tmpfs tmpfs /sys/kernel/btf && shift && exec "$@"' hide \
		"$HALO_BPF" "$HALO_BPF" start ${1:+--btf "$1"} >"$WORK/start" 2>&1 || status=$?
	[ "$status" -ne 0 ] && cat "$WORK/start" || echo ok
}

output=$(with_btf)
tap_like "no BTF: start says which file is missing" '/sys/kernel/btf/vmlinux can.t be read' "$output"
tap_like "no BTF: and what to do" 'remedy: .*--btf FILE' "$output"
echo "no BTF" >"$WORK/text"
tap_like "--btf with another kind of file: it says so" "Can.t read BTF from $WORK/text" "$(with_btf "$WORK/text")"
tap_like "--btf with a file that is not there: it says so" "Can.t read BTF from $WORK/none: No such file" \
	"$(with_btf "$WORK/none")"
tap_is "no BTF, but --btf FILE: it starts" ok "$(with_btf "$WORK/btf")"
halo enroll "$PROGRAMS_DIR/halo/perlin" >/dev/null
"$PROGRAMS_DIR/halo/perlin" --endless >/dev/null 2>&1 &
at_exit "end_process $!"
sampled() {
	[ -n "$(halo profile "$PROGRAMS_DIR/halo/perlin" --format folded 2>/dev/null)" ]
}
tap_run "no BTF, but --btf FILE: programs are followed and sampled" wait_for 60 sampled
halo stop >/dev/null
wait_for 20 daemon_absent

paranoid=$(</proc/sys/kernel/perf_event_paranoid)
at_exit "echo $paranoid >/proc/sys/kernel/perf_event_paranoid 2>/dev/null"
if echo 3 2>/dev/null >/proc/sys/kernel/perf_event_paranoid; then
	tap_is "perf_event_paranoid 3: root starts it" ok "$(start @)"
	tap_like "perf_event_paranoid 3: without CAP_PERFMON doctor says what is lost" 'CAP_PERFMON is missing' \
		"$(setpriv --bounding-set=-perfmon,-sys_admin --inh-caps=-perfmon,-sys_admin "$HALO_BPF" doctor || true)"
	echo "$paranoid" >/proc/sys/kernel/perf_event_paranoid
else
	tap_skip "perf_event_paranoid 3" "it can't be written here"
fi

tap_like "not root: start says that it needs root" 'the daemon needs root' \
	"$(start setpriv --reuid=65534 --regid=65534 --clear-groups @)"
# setpriv of util-linux knows these names where libcap-ng does.
caps=+bpf,+perfmon,+sys_admin,+sys_ptrace
tap_like "capabilities without root: the same, since files and sockets are root's" 'the daemon needs root' \
	"$(start setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=$caps --ambient-caps=$caps @)"

lockdown=/sys/kernel/security/lockdown
if [ "${HALO_VM_KERNEL:-running}" = running ] || [ ! -w "$lockdown" ]; then
	tap_skip "lockdown" "it could not be lifted again, so it is tested in machines alone"
	tap_done
fi
echo integrity >"$lockdown"
tap_is "lockdown integrity: it starts" ok "$(start @)"
echo confidentiality >"$lockdown"
tap_like "lockdown confidentiality: start fails, and doctor says why" \
	'may not read kernel memory' "$(start @ | grep -v '^ok$'; halo doctor || true)"
tap_is "lockdown confidentiality: start does not say that it works" 0 "$(start @ | grep -c '^ok$')"
tap_done
