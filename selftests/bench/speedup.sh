#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the daemon wins: each program runs prepared under a live daemon, plain (-O2), and built for
# this CPU with a profile (-O3 -march=native, PGO). All three run at once and are let go in turns, in
# random order, so that what else the machine does hits all. Writes build/bench-speedup.json.
#
#   speedup.sh [-n TURNS] [NAME…]
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../lib.sh"
. "$HERE/lib.sh"

FIGURES=$BUILD_DIR/bench-speedup.json
PGO_DIR=$PROGRAMS_DIR/pgo
TURNS=7
SETTLE=90 # seconds that the daemon gets
while getopts n: opt; do
	case $opt in
	n) TURNS=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))

# build_pgo NAME: trained on the very work that is measured, which is the best case for it
build_pgo() {
	local name=$1 dir=$SELFTESTS_DIR/programs compiler=clang-19 rounds source unit objects=()
	local flags=(-O3 -march=native -ffp-contract=off -D_GNU_SOURCE -I"$dir")
	rounds=$(awk '$1 == "rounds" { print $2 }' "$dir/expected/$name")
	mkdir -p "$PGO_DIR"
	for unit in program main; do
		[ "$name $unit" = "inmain main" ] && continue
		clang-19 "${flags[@]}" -c "$dir/$unit.c" -o "$WORK/$unit.o"
		objects+=("$WORK/$unit.o")
	done
	source=$(echo "$dir/$name".c*)
	[ "${source##*.}" = c ] || compiler=clang++-19
	"$compiler" "${flags[@]}" -fprofile-generate "$source" "${objects[@]}" -o "$WORK/train" \
		-lm -pthread
	LLVM_PROFILE_FILE=$WORK/train.profraw "$WORK/train" --rounds "$rounds" >/dev/null
	llvm-profdata-19 merge -o "$WORK/$name.profdata" "$WORK/train.profraw"
	"$compiler" "${flags[@]}" -fprofile-use="$WORK/$name.profdata" "$source" "${objects[@]}" \
		-o "$PGO_DIR/$name" -lm -pthread
}

# launch WAY EXE: sets pid[WAY]
launch() {
	: >"$WORK/$1.err"
	"$2" --endless >/dev/null 2>"$WORK/$1.err" &
	pid[$1]=$!
	at_exit "end_process ${pid[$1]}"
}

# turn WAY: it alone runs; its rate in $REPLY
turn() {
	kill -CONT "${pid[$1]}"
	REPLY=$(rates "${pid[$1]}" "$WORK/$1.err" 1)
	kill -STOP "${pid[$1]}"
	[ -n "$REPLY" ]
}

settled() {
	state_is "$1" optimized "nothing to gain" failed
}

# note NAME WAY AGAINST: the rates of WAY over those of AGAINST, pair by pair
note() {
	local name=$1 values low value high
	values=$(paste "$WORK/$2.rates" "$WORK/$3.rates" | awk '{ print $1 / $2 }' | sort -g)
	low=$(head -n 1 <<<"$values")
	high=$(tail -n 1 <<<"$values")
	value=$(median <<<"$values")
	record "$FIGURES" program="$name" metric=speedup unit=ratio against="$4" policy=exact \
		kind=kernel n="$TURNS" value="$value" min="$low" max="$high" identical="$identical"
	printf '  %-14s %7.3f [%.3f, %.3f]' "against $4" "$value" "$low" "$high"
}

bench() {
	local name=$1 way i rounds state identical=false exe=$PROGRAMS_DIR/halo/$1
	declare -A pid
	build_pgo "$name"
	launch halo "$exe"
	halo enroll "$exe" >/dev/null
	wait_for "$SETTLE" settled "$exe" || true
	launch plain "$PROGRAMS_DIR/plain/$name"
	launch pgo "$PGO_DIR/$name"
	kill -STOP "${pid[@]}"
	rm -f "$WORK"/*.rates
	for ((i = 0; i < TURNS; i++)); do
		for way in $(printf '%s\n' halo plain pgo | shuf); do
			turn "$way" || die "$name ($way) does not work"
			echo "$REPLY" >>"$WORK/$way.rates"
		done
	done
	state=$(program_status "$exe" | jq -r '.state')
	for way in "${!pid[@]}"; do
		end_process "${pid[$way]}"
	done
	rounds=$(awk '$1 == "rounds" { print $2 }' "$SELFTESTS_DIR/programs/expected/$name")
	"$exe" --rounds "$rounds" | cmp -s - "$SELFTESTS_DIR/programs/expected/$name" && identical=true
	printf '%-14s' "$name"
	note "$name" halo plain O2
	note "$name" halo pgo O3-native-pgo
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
