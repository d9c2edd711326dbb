#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that are enrolled, sampled, switched and measured print to the byte what plain builds do.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
with_daemon

# long_rounds NAME: a fixed amount of work that takes several seconds
long_rounds() {
	local rounds factor=8
	rounds=$(awk '$1 == "rounds" { print $2 }' "$SELFTESTS_DIR/programs/expected/$1")
	[ "$1" = phases ] && factor=2
	echo $((rounds * factor))
}

adopted() {
	has_section "$PROGRAMS_DIR/halo/$1" adopted
}

check() {
	local name=$1 exe=$PROGRAMS_DIR/halo/$1 plain=$PROGRAMS_DIR/plain/$1 rounds pid
	need_built "$exe" "$plain"
	rounds=$(long_rounds "$name")
	"$exe" --rounds "$rounds" >"$WORK/$name.halo" 2>&1 &
	pid=$!
	halo enroll "$exe" >/dev/null
	"$plain" --rounds "$rounds" >"$WORK/$name.plain" 2>&1
	if ! wait "$pid"; then
		tap_not_ok "$name: ends well" "exit status $?"
		return
	fi
	tap_is "$name: same output" "$(cat "$WORK/$name.plain")" "$(cat "$WORK/$name.halo")"
}

# Perlin first, until a variant is in use; what it prints then comes from the variant too.
check_adopted() {
	local exe=$PROGRAMS_DIR/halo/perlin rounds pid
	"$exe" --endless >"$WORK/adopt" 2>/dev/null &
	pid=$!
	at_exit "end_process $pid"
	halo enroll "$exe" >/dev/null
	if wait_for 60 adopted perlin; then
		tap_ok "perlin: a variant is adopted"
	else
		tap_not_ok "perlin: a variant is adopted" "$(program_status "$exe")" \
			"$(halo explain "$exe")"
	fi
	sleep 1
	kill -TERM "$pid"
	wait "$pid" || tap_not_ok "perlin: ends well" "exit status $?"
	rounds=$(awk '$1 == "rounds" { print $2 }' "$WORK/adopt")
	tap_is "perlin: same output across the switch" \
		"$("$PROGRAMS_DIR/plain/perlin" --rounds "$rounds")" "$(cat "$WORK/adopt")"
	tap_is "perlin: same output in a process that starts with the variant" \
		"$("$PROGRAMS_DIR/plain/perlin" --rounds 4000)" "$("$exe" --rounds 4000)"
}

check_adopted
for expected in "$SELFTESTS_DIR"/programs/expected/*; do
	check "$(basename "$expected")"
done
tap_run "the daemon still answers" "$HALO_BPF" status
tap_done
