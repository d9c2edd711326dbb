#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Compilations that crash, hang, or want more memory than there is: it is counted, said by name, and
# costs that configuration alone. Code that is no code is refused.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
PROGRAM=$PROGRAMS_DIR/halo/perlin
ROUNDS=60000
need_built "$PROGRAM" "$PROGRAMS_DIR/plain/perlin"
"$PROGRAMS_DIR/plain/perlin" --rounds "$ROUNDS" >"$WORK/expected"

# Two configurations of which each is enough to win.
mkdir "$WORK/knobs"
cp "$SOURCE_DIR/knobs/knobs.json" "$WORK/knobs"
jq '[.[0], (.[0] | .name = "other" | .slp = "off")]' "$SOURCE_DIR/knobs/configs.json" \
	>"$WORK/knobs/configs.json"

# start FAILPOINT: a daemon whose workers fail so
start() {
	DAEMON_PID=$(HALO_FAILPOINT=$1 "$HALO_BPF" -j start --knobs "$WORK/knobs" --job-limit 5 | jq .pid)
}
at_exit stop_daemon

# fails FAILPOINT COUNTER LEAST REGEX: of two configurations, the first fails so
fails() {
	local pid status=0
	start "$1:host"
	"$PROGRAM" --rounds "$ROUNDS" >"$WORK/output" 2>&1 &
	pid=$!
	at_exit "end_process $pid"
	halo enroll "$PROGRAM" >/dev/null
	if wait_for 100 state_is "$PROGRAM" optimized; then
		tap_ok "$1: the other configuration is tried, and adopted"
	else
		tap_not_ok "$1: the other configuration is tried, and adopted" "$(halo explain "$PROGRAM")"
	fi
	tap_like "$1: by its name" 'v[0-9]+-other' "$(program_status "$PROGRAM" | jq -r '.sections[].version')"
	tap_like "$1: explain names the configuration that failed, and how" "$4" "$(halo explain "$PROGRAM")"
	tap_is "$1: it is counted" true "$(halo -j status | jq ".daemon.jobs.$2 >= $3")"
	wait "$pid" || status=$?
	tap_is "$1: the program ends well" 0 "$status"
	tap_is "$1: its output is that of the plain build" "$(cat "$WORK/expected")" "$(cat "$WORK/output")"
	stop_daemon
}

fails opt-crash died 2 'compiling with host: the worker died: Aborted$'
fails opt-memory died 2 'compiling with host: the worker died: Aborted$'
fails opt-hang late 1 'compiling with host: the worker took longer than 5 s and was ended$'

tap_done
