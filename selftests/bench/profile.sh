#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What profiling costs: a whole program's CPU time under it against none, in interleaved pairs, beside
# perf record -g at the same rate; the kernel side's run time per sample; and a thousand processes at
# once. Writes build/bench-profile.json.
#
#   profile.sh [-n PAIRS] [NAME…]
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../lib.sh"
. "$HERE/lib.sh"

FIGURES=$BUILD_DIR/bench-profile.json
RATES="default 4000"
PAIRS=7
while getopts n: opt; do
	case $opt in
	n) PAIRS=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))

# The hooks that bench-pairs runs by sh before each side, unmeasured: one profiler at a time.
write_hooks() {
	cat >"$WORK/none" <<-HOOK
		[ ! -s "$WORK/perf.pid" ] || kill -INT \$(cat "$WORK/perf.pid") 2>/dev/null
		rm -f "$WORK/perf.pid"
		"$HALO_BPF" stop >/dev/null 2>&1
		while "$HALO_BPF" -j status >/dev/null 2>&1; do sleep 0.1; done
		exit 0
	HOOK
	cat >"$WORK/halo" <<-HOOK
		sh "$WORK/none"
		"$HALO_BPF" start \$2 >/dev/null && "$HALO_BPF" enroll "\$1" >/dev/null
	HOOK
	cat >"$WORK/perf" <<-HOOK
		sh "$WORK/none"
		perf record -q -a --call-graph \$1 -F \$2 -o /dev/null >/dev/null 2>&1 &
		echo \$! >"$WORK/perf.pid"
		sleep 1
	HOOK
}

# overhead NAME PROFILER RATE HOOK: of the prepared program, which keeps its original code
overhead() {
	local rounds
	rounds=$(awk '$1 == "rounds" { print 10 * $2 }' "$SELFTESTS_DIR/programs/expected/$1")
	HALO_DISABLE=1 "$BUILD_DIR/bench-pairs" -n "$PAIRS" -p "$1" -m cpu_ratio \
		-a "none, under $2 at $3 Hz" -k kernel -j "$FIGURES" -x "sh $WORK/none" -y "$4" \
		"$PROGRAMS_DIR/halo/$1" --rounds "$rounds" \
		:: "$PROGRAMS_DIR/halo/$1" --rounds "$rounds" |
		sed "s/^/$(printf '%-10s %7s Hz  ' "$2" "$3")/"
	sh "$WORK/none"
}

bench_overhead() {
	local rate hz
	for rate in $RATES; do
		hz=$rate
		[ "$rate" != default ] || hz=199
		overhead "$1" halo-bpf "$hz" "sh $WORK/halo $PROGRAMS_DIR/halo/$1 '-r $hz'"
		if ! command -v perf >/dev/null; then
			echo "perf is not installed: no figures beside"
			continue
		fi
		overhead "$1" "perf fp" "$hz" "sh $WORK/perf fp $hz"
		overhead "$1" "perf dwarf" "$hz" "sh $WORK/perf dwarf $hz"
	done
}

# run_time: ns and runs of the sampling program so far
run_time() {
	bpftool -j prog show name halo_sample |
		jq -r 'if type == "array" then .[0] else . end | "\(.run_time_ns // 0) \(.run_cnt // 0)"'
}

samples() {
	halo -j status | jq .daemon.stats.samples
}

# over SECONDS: in $ns, $runs and $taken, what the sampling program did meanwhile
over() {
	local ns0 runs0 taken0
	read -r ns0 runs0 < <(run_time)
	taken0=$(samples)
	sleep "$1"
	read -r ns runs < <(run_time)
	taken=$(($(samples) - taken0)) ns=$((ns - ns0)) runs=$((runs - runs0))
}

# Busy programs, in $pids
busy() {
	pids=()
	for _ in 1 2; do
		HALO_DISABLE=1 "$1" --endless >/dev/null 2>&1 &
		pids+=($!)
	done
}

# First two programs that are not enrolled, then two that are.
bench_run_time() {
	local program=$PROGRAMS_DIR/halo/$1 stats pids others per_sample ns runs taken
	stats=$(sysctl -n kernel.bpf_stats_enabled)
	at_exit "sysctl -q kernel.bpf_stats_enabled=$stats"
	sysctl -q kernel.bpf_stats_enabled=1
	halo start -r 997 >/dev/null
	busy "$PROGRAMS_DIR/plain/$1"
	over 5
	kill "${pids[@]}"
	others=$(awk -v ns="$ns" -v n="$runs" 'BEGIN { print n ? ns / n : 0 }')
	halo enroll "$program" >/dev/null
	busy "$program"
	over 10
	# What other programs add can't be told apart, so there must be few of them.
	per_sample=$(awk -v ns="$ns" -v n="$runs" -v s="$taken" \
		'BEGIN { print s > 0.9 * n && n ? ns / n : "null" }')
	kill "${pids[@]}"
	sh "$WORK/none"
	record "$FIGURES" program="$1" metric=bpf_tick unit=ns against=none policy=exact kind=kernel \
		n="$runs" identical=null value="$others"
	record "$FIGURES" program="$1" metric=bpf_sample unit=ns against=none policy=exact \
		kind=kernel n="$taken" identical=null value="$per_sample"
	printf '%-14s BPF run time: %s ns per sample (%d of %d ticks), %.0f ns per tick of other programs\n' \
		"$1" "$per_sample" "$taken" "$runs" "$others"
	[ "$per_sample" != null ] || echo "the machine is busy with other things: no figure per sample"
}

# Of both parts of a sample, whatever else the machine does: the best of many rounds.
bench_feed() {
	local kind ns
	while read -r kind ns; do
		record "$FIGURES" program=bench-feed metric="bpf_$kind" unit=ns against=none policy=exact \
			kind=kernel n=76800 identical=null value="$ns"
		echo "in the kernel: $kind $ns ns"
	done < <("$BUILD_DIR/bench-feed")
}

bench_scale() {
	local key value
	HALO_SCALE=1000 "$SELFTESTS_DIR/e2e/scale.sh" -t "$WORK/scale" | grep -v '^ok' || true
	while read -r key value; do
		record "$FIGURES" program=many metric="scale_$key" unit="${key##*_}" against=one \
			policy=exact kind=kernel n=1000 identical=null value="$value"
		echo "1000 processes: $key $value"
	done <"$WORK/scale"
}

need_no_daemon
work_dir
rm -f "$FIGURES"
write_hooks
at_exit 'sh "$WORK/none"'
bench_feed
[ $# -gt 0 ] || set -- sphereflake interp
for name in "$@"; do
	bench_overhead "$name"
	bench_run_time "$name"
done
bench_scale
