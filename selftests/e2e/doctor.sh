#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# doctor says that halo-bpf can't run exactly where start fails, whatever is taken away; and it says
# what is missing, what that costs, and what to do.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
DENY=$BUILD_DIR/selftests/e2e/deny
need_built "$HALO_BPF" "$BUILD_DIR/halo-opt" "$DENY"
if ! daemon_absent; then
	tap_not_ok "no other daemon runs" "remedy: $HALO_BPF stop"
	tap_done
fi

# alike TEXT GOOD COMMAND…: run halo-bpf by the command, where it stands for @; both doctor and start
# succeed (GOOD yes) or both fail (no).
alike() {
	local text=$1 good=$2 doctor=0 start=0
	shift 2
	"${@/#@/$HALO_BPF}" -j doctor >"$WORK/doctor" 2>"$WORK/err" || doctor=$?
	"${@/#@/$HALO_BPF}" -j start >"$WORK/start" 2>&1 || start=$?
	halo stop >/dev/null 2>&1 || true
	wait_for 20 daemon_absent
	if [ "$good" = yes ]; then
		tap_is "$text: doctor and start both succeed" "0 0" "$doctor $start"
		return
	fi
	if [ "$doctor" -ne 0 ] && [ "$start" -ne 0 ]; then
		tap_ok "$text: doctor and start both fail"
	else
		tap_not_ok "$text: doctor and start both fail" "$doctor $start" "$(<"$WORK/start")"
	fi
	tap_is "$text: what is missing has a reason, a price and a remedy" "true" \
		"$(jq '[.checks[] | select(.required and (.ok | not))] | length > 0 and
			all(.detail != "" and .without != "" and .remedy != "")' "$WORK/doctor")"
}

# without CAPABILITY… COMMAND…: up to --
without() {
	local set=
	while [ "$1" != -- ]; do
		set+=${set:+,}-$1
		shift
	done
	shift
	setpriv --bounding-set="$set" --inh-caps="$set" "$@"
}

alike "all there" yes @
tap_is "every row of doctor -j is whole" true \
	"$(jq '.ok and (.checks | length > 20) and ([.checks[] | .name, .without] | all(. != "")) and
		([.checks[] | has("since") and has("commit") and has("remedy") and has("detail")] | all)' \
		"$WORK/doctor")"
for row in kernel lockdown perf_event_paranoid "locked memory" seccomp bpffs tracefs BTF \
	"branch records (LBR)" "performance counters" "worker user" "run folder" privileges \
	"safe user reads in NMI" "BPF programs"; do
	tap_is "doctor looks at: $row" true \
		"$(jq --arg row "$row" '[.checks[].name] | index($row) != null' "$WORK/doctor")"
done

alike "without CAP_BPF" no without bpf -- @
alike "without CAP_PERFMON" no without perfmon -- @
alike "without CAP_SYS_ADMIN" no without sys_admin -- @
alike "without CAP_SYS_RESOURCE" yes without sys_resource -- @
alike "as another user" no setpriv --reuid=nobody --regid=nogroup --clear-groups @
alike "as root of a user namespace" no unshare --user --map-root-user @
alike "bpf(2) forbidden" no "$DENY" bpf @
alike "perf_event_open(2) forbidden" no "$DENY" perf_event_open @
alike "mount_setattr(2) forbidden" no "$DENY" mount_setattr @
install -m 755 "$HALO_BPF" "$WORK/halo-bpf"
alike "no halo-opt beside it" no env PATH=/usr/bin:/bin "$WORK/halo-bpf"
alike "no linker" yes env PATH=/nonexistent @

hide='mount -t tmpfs tmpfs /sys/kernel/btf && exec "$@"'
alike "no BTF" no unshare --mount bash -c "$hide" hide @
hide='mount -t tmpfs -o ro tmpfs /run && exec "$@"'
alike "/run is read-only" no unshare --mount bash -c "$hide" hide @
hide='umount /sys/fs/bpf /sys/kernel/tracing; exec "$@"'
alike "neither bpffs nor tracefs" yes unshare --mount bash -c "$hide" hide @

tap_like "doctor tells people the remedy" 'remedy: ' "$(without bpf -- "$HALO_BPF" doctor)"
tap_done
