#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two kernels and a real program are built with halo-cc, run, and made faster as they run. What they
# do per second of CPU time is measured from outside: before, after, and once more on their own code,
# so that drift is seen. Writes build/demo.json.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../lib.sh"
. "$HERE/lib.sh"

APPS=$SELFTESTS_DIR/apps/app.sh
APP=jq    # a recipe of selftests/apps
SAMPLES=3 # rates taken before, after, and again before

say() {
	printf '\n\033[1m%s\033[0m\n' "$*"
}

# Run a command as shown.
show() {
	printf '  $ %s\n' "${*/#$SOURCE_DIR\//}"
	"$@" 2>&1 | sed 's/^/    /'
}

newer() {
	[ -e "$1" ] && [ "$1" -nt "$HALO_CC" ] && [ "$1" -nt "$BUILD_DIR/halo-prepare.so" ]
}

build_app() {
	local prepared=$BUILD_DIR/apps/halo plain=$BUILD_DIR/apps/plain log=$WORK/$APP.log
	if ! newer "$prepared/$APP" || ! [ -e "$plain/$APP" ]; then
		echo "  $APP: fetching its source, building it plain and prepared"
		"$APPS" fetch "$APP" >"$log" 2>&1 || return 1
		"$APPS" build "$APP" clang-19 clang++-19 -O2 "$plain" >"$WORK/plain.log" 2>&1 &
		local other=$!
		"$APPS" build "$APP" "$HALO_CC" "$HALO_CXX" -O2 "$prepared" >>"$log" 2>&1 || return 1
		wait "$other" || return 1
	fi
}

build_all() {
	say "Build with halo-cc -O2, a drop-in CC"
	make -s -C "$SOURCE_DIR" BUILD="$BUILD_DIR" "$PROGRAMS_DIR"/{halo,plain}/{perlin,nussinov} ||
		die "the kernels could not be built"
	with_app=yes
	if ! build_app; then
		with_app=no
		echo "  $APP could not be built, and is left out:"
		tail -3 "$WORK/$APP.log" | sed 's/^/    /'
	fi
	(cd "$BUILD_DIR" && ls -sh programs/halo/perlin programs/halo/nussinov) | sed 's/^/  /'
	[ "$with_app" = no ] || (cd "$BUILD_DIR" && ls -sh "apps/halo/$APP") | sed 's/^/  /'
}

# launch NAME EXE: starts it, working for ever; sets $pid
launch() {
	local name=$1 exe=$2
	: >"$WORK/$name.err"
	if [ "$name" = "$APP" ]; then
		"$APPS" loop "$APP" "$exe" >/dev/null 2>"$WORK/$name.err" &
	else
		"$exe" --endless >/dev/null 2>"$WORK/$name.err" &
	fi
	pid=$!
	at_exit "end_process $pid"
	wait_for 20 test "/proc/$pid/exe" -ef "$exe" || die "$name does not start"
}

once() {
	local name=$1 exe=$2
	case $name in
	"$APP") "$APPS" run "$APP" "$exe" ;;
	perlin) "$exe" --rounds 8000 ;;
	nussinov) "$exe" --rounds 30 ;;
	esac
}

# Print the program's new events, then say whether it has settled.
follow() {
	local exe=$1 events
	events=$(halo -j explain "$exe" | jq -r '.events[].text') || return 1
	tail -n "+$((shown + 1))" <<<"$events" | sed '/^$/d; s/^/    /'
	shown=$(grep -c . <<<"$events" || true)
	state_is "$exe" optimized "nothing to gain" failed
}

# measure NAME: more rates into the array $rate
measure() {
	local more
	mapfile -t more < <(rates "$pid" "$WORK/$1.err" "$SAMPLES")
	[ ${#more[@]} -eq "$SAMPLES" ] || die "$1 does not work"
	rate+=("${more[@]}")
}

# The same work, plain and under the daemon.
check_output() {
	local name=$1 exe=$2 plain=$3
	once "$name" "$plain" >"$WORK/$name.plain" || die "$name, plain, fails"
	once "$name" "$exe" >"$WORK/$name.halo" || die "$name fails under the daemon"
	cmp -s "$WORK/$name.plain" "$WORK/$name.halo"
}

# make_faster NAME EXE PLAIN TARGET-KIND LIMIT: the daemon gets LIMIT seconds for it
make_faster() {
	local name=$1 exe=$2 plain=$3 kind=$4 limit=$5 target begin took identical=false shown=0
	local rate=() before=() after=()
	say "$name"
	launch "$name" "$exe"
	echo "  runs as process $pid; measuring how fast it is"
	measure "$name"
	before=("${rate[@]}") rate=()
	case $kind in
	path) target=$exe ;;
	pid) target=$pid ;;
	build-id) target=$(build_id_of "$exe") ;;
	esac
	begin=$EPOCHREALTIME
	show "$HALO_BPF" enroll "$target"
	local deadline=$((SECONDS + limit))
	until follow "$exe"; do
		[ "$SECONDS" -lt "$deadline" ] || break
		sleep 0.3
	done
	follow "$exe" || true
	took=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
	echo "  settled after $took s; measuring again"
	measure "$name"
	after=("${rate[@]}") rate=("${before[@]}")
	show "$HALO_BPF" status
	check_output "$name" "$exe" "$plain" && identical=true
	show "$HALO_BPF" unenroll "$exe"
	measure "$name"
	before=("${rate[@]}")
	end_process "$pid"
	note_figures "$name" "$took" "$identical"
}

# Uses before and after of make_faster.
note_figures() {
	local name=$1 took=$2 identical=$3 kind=kernel old new value low high
	[ "$name" = "$APP" ] && kind=app
	old=$(printf '%s\n' "${before[@]}" | median)
	new=$(printf '%s\n' "${after[@]}" | median)
	read -r value low high < <(printf '%s\n' "${after[@]}" | sort -g |
		awk -v old="$old" 'NR == 1 { low = $1 } { high = $1 } { v[NR] = $1 }
			END { print v[(NR + 1) / 2] / old, low / old, high / old }')
	record "$FIGURES" program="$name" metric=speedup value="$value" unit=ratio against=O2 \
		policy=exact kind=$kind n="$SAMPLES" min="$low" max="$high" identical="$identical" \
		before="$old" after="$new"
	record "$FIGURES" program="$name" metric=time_to_settle value="$took" unit=s against=O2 \
		policy=exact kind=$kind n=1 min="$took" max="$took" identical=null
	[ "$identical" = true ] || different+=("$name")
}

table() {
	say "Work per second of CPU time"
	jq -r '.[] | select(.metric == "speedup") |
		[.program, .before, .after, .value, (if .identical then "yes" else "NO" end)] | @tsv' \
		"$FIGURES" |
		awk -F '\t' 'BEGIN { printf "  %-10s %12s %12s %9s  %s\n", "program", "before", "after",
					"speed-up", "output identical" }
			{ printf "  %-10s %12.5g %12.5g %8.2fx  %s\n", $1, $2, $3, $4, $5 }'
	cp "$FIGURES" "$BUILD_DIR/demo.json"
	echo "  Figures: $(realpath --relative-to="$SOURCE_DIR" "$BUILD_DIR/demo.json")"
}

[ "$(id -u)" -eq 0 ] || die "the demo needs root" "sudo make demo"
for file in "$HALO_BPF" "$HALO_CC" "$BUILD_DIR/halo-opt"; do
	[ -x "$file" ] || die "$file is not built" "make"
done
need_no_daemon
work_dir
different=()
FIGURES=$WORK/demo.json

build_all
say "Start the daemon"
show "$HALO_BPF" start
at_exit stop_daemon
DAEMON_PID=$(halo -j status | jq .daemon.pid)
make_faster perlin "$PROGRAMS_DIR/halo/perlin" "$PROGRAMS_DIR/plain/perlin" path 30
make_faster nussinov "$PROGRAMS_DIR/halo/nussinov" "$PROGRAMS_DIR/plain/nussinov" pid 30
[ "$with_app" = no ] ||
	make_faster "$APP" "$BUILD_DIR/apps/halo/$APP" "$BUILD_DIR/apps/plain/$APP" build-id 30
table
if [ ${#different[@]} -gt 0 ]; then
	die "the output of ${different[*]} is not that of the plain build"
fi
