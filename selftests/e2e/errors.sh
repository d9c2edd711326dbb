#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What can be wrong with a request is said with its cause and remedy, the right exit status, and as
# JSON with -j.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
PROGRAM=$PROGRAMS_DIR/halo/perlin
need_built "$HALO_BPF" "$PROGRAM" "$PROGRAMS_DIR/plain/perlin"

# Run a command, with -j behind the word that names halo-bpf.
as_json() {
	local word words=()
	for word in "$@"; do
		words+=("$word")
		[ "${word##*/}" = halo-bpf ] && words+=(-j)
	done
	"${words[@]}"
}

# fails TEXT STATUS CODE REGEX COMMAND…: as text and, with -j, as JSON with an error of that code
fails() {
	local text=$1 status=$2 code=$3 regex=$4 seen=0 output json
	shift 4
	output=$("$@" 2>&1) || seen=$?
	tap_is "$text: exit status" "$status" "$seen"
	tap_like "$text: what and why" "$regex" "$output"
	tap_like "$text: what to do" '^ *remedy: .' "$output"
	seen=0
	json=$(as_json "$@" 2>/dev/null) || seen=$?
	tap_is "$text: JSON" "$status $code" \
		"$seen $(jq -r 'select(.error.remedy != "") | .error.code' <<<"$json" 2>&1)"
}

if ! daemon_absent; then
	tap_not_ok "no other daemon runs" "remedy: $HALO_BPF stop"
	tap_done
fi

as_nobody() {
	setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs "$@"
}

# A copy that every user can reach, wherever the source tree lies.
install -m 755 "$HALO_BPF" "$WORK/halo-bpf"
chmod 755 "$WORK"

fails "no daemon" 3 ENOENT "not running" "$HALO_BPF" status
fails "no daemon, enroll" 3 ENOENT "not running" "$HALO_BPF" enroll "$PROGRAM"
fails "start, not as root" 4 EPERM "needs root" as_nobody "$WORK/halo-bpf" start
fails "unknown command" 2 EINVAL "unknown command 'fly'" "$HALO_BPF" fly
fails "start, no folder of knobs" 1 ENOENT "$WORK/none" "$HALO_BPF" start --knobs "$WORK/none"
mkdir "$WORK/knobs"
cp "$SOURCE_DIR/knobs/knobs.json" "$WORK/knobs"
jq '.[0].vectorise = "off"' "$SOURCE_DIR/knobs/configs.json" >"$WORK/knobs/configs.json"
fails "start, an unknown knob" 1 EINVAL 'unknown knob "vectorise"' "$HALO_BPF" start --knobs "$WORK/knobs"
jq '.[0].inline = "9"' "$SOURCE_DIR/knobs/configs.json" >"$WORK/knobs/configs.json"
fails "start, a knob's value" 1 EINVAL '"inline" can.t be "9"' "$HALO_BPF" start --knobs "$WORK/knobs"

with_daemon
fails "a second daemon" 1 EALREADY "runs already, as process $DAEMON_PID" "$HALO_BPF" start
fails "status, not as root" 4 EACCES "not allowed" as_nobody "$WORK/halo-bpf" status
fails "a path where nothing is" 1 ENOENT "$WORK/none" "$HALO_BPF" enroll "$WORK/none"
fails "a process that is gone" 1 ESRCH "no process 4194305" "$HALO_BPF" enroll 4194305
fails "an unknown build-id" 1 ENOENT "no program with build-id" \
	"$HALO_BPF" enroll 00112233445566778899aabbccddeeff00112233
fails "a plain program" 1 ENODATA "halo-cc" "$HALO_BPF" enroll "$PROGRAMS_DIR/plain/perlin"
fails "not a program" 1 ENOEXEC "not an (x86-64 )?ELF file" "$HALO_BPF" enroll "$SELFTESTS_DIR/run.sh"
fails "unenroll what is not enrolled" 1 ENOENT "not enrolled" "$HALO_BPF" unenroll "$PROGRAM"
fails "explain what is not enrolled" 1 ENOENT "not enrolled" "$HALO_BPF" explain "$PROGRAM"

objcopy --remove-section=.note.gnu.build-id "$PROGRAM" "$WORK/no-build-id"
fails "no build-id" 1 ENODATA "build-id" "$HALO_BPF" enroll "$WORK/no-build-id"

objcopy --remove-section=.halo.stub "$PROGRAM" "$WORK/no-stub"
fails "no stub" 1 ENODATA "stub" "$HALO_BPF" enroll "$WORK/no-stub"

objcopy --remove-section=.halo.bc "$PROGRAM" "$WORK/no-bitcode"
fails "tables without bitcode" 1 EBADMSG "bad file" "$HALO_BPF" enroll "$WORK/no-bitcode"

head -c 2000 "$PROGRAM" >"$WORK/cut"
fails "a file that is cut" 1 EBADMSG "." "$HALO_BPF" enroll "$WORK/cut"

tap_run "the daemon still answers" "$HALO_BPF" status
tap_done
