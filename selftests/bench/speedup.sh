#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the daemon wins: each program runs prepared under a live daemon, plain (-O2), and built for
# this CPU with a profile (-O3 -march=native, PGO). Writes build/bench-speedup.json.
#
#   speedup.sh [-n TURNS] [NAME…]
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../lib.sh"
. "$HERE/lib.sh"
. "$HERE/race.sh"

FIGURES=$BUILD_DIR/bench-speedup.json
TURNS=7
while getopts n: opt; do
	case $opt in
	n) TURNS=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))

# note NAME AGAINST IDENTICAL VALUE LEAST MOST
note() {
	record "$FIGURES" program="$1" metric=speedup unit=ratio against="$2" policy=exact \
		kind="$(kind_of "$1")" n="$TURNS" value="$4" min="$5" max="$6" identical="$3"
	printf '  %-14s %7.3f [%.3f, %.3f]' "against $2" "$4" "$5" "$6"
}

bench() {
	local name=$1 way state identical exe plain trained
	declare -A pid
	exe=$(exe_of halo "$name")
	build_ways "$name"
	launch "$name" halo
	halo enroll "$exe" >/dev/null
	wait_for "$SETTLE" settled "$exe" || true
	launch "$name" plain
	launch "$name" pgo
	kill -STOP "${pid[@]}"
	take_turns "$name" "$TURNS" halo plain pgo
	state=$(program_status "$exe" | jq -r '.state')
	for way in "${!pid[@]}"; do
		end_process "${pid[$way]}"
	done
	identical=$(same_output "$name")
	printf '%-14s' "$name"
	read -ra plain < <(compare halo plain)
	read -ra trained < <(compare halo pgo)
	note "$name" O2 "$identical" "${plain[@]}"
	note "$name" O3-native-pgo "$identical" "${trained[@]}"
	printf '  %s\n' "$state"
	halo unenroll "$exe" >/dev/null
}

[ "$(id -u)" -eq 0 ] || die "the daemon needs root" "sudo make bench-speedup"
need_no_daemon
work_dir
rm -f "$FIGURES"
DAEMON_PID=$(halo -j start | jq .pid)
at_exit stop_daemon
if [ $# -eq 0 ]; then
	mapfile -t names < <(ls "$SELFTESTS_DIR/programs/expected")
	set -- "${names[@]}"
fi
for name in "$@"; do
	bench "$name"
done
