#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two kernels and SQLite are built with halo-cc, run, and made faster as they run. What they do per
# second of CPU time is measured from outside, before and after. Writes build/demo.json.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../lib.sh"
. "$HERE/lib.sh"

APPS=$SELFTESTS_DIR/apps/app.sh
SAMPLES=3 # rates taken before and after

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

build_sqlite() {
	local prepared=$BUILD_DIR/apps/halo plain=$BUILD_DIR/apps/plain log=$WORK/sqlite.log
	if ! newer "$prepared/sqlite" || ! [ -e "$plain/sqlite" ]; then
		echo "  SQLite: fetching its source, building it plain and prepared (about a minute)"
		"$APPS" fetch sqlite >"$log" 2>&1 || return 1
		"$APPS" build sqlite clang-19 clang++-19 -O2 "$plain" >"$WORK/plain.log" 2>&1 &
		local other=$!
		"$APPS" build sqlite "$HALO_CC" "$HALO_CXX" -O2 "$prepared" >>"$log" 2>&1 || return 1
		wait "$other" || return 1
	fi
}

build_all() {
	say "Build with halo-cc -O2, a drop-in CC"
	make -s -C "$SOURCE_DIR" BUILD="$BUILD_DIR" "$PROGRAMS_DIR"/{halo,plain}/{perlin,nussinov} ||
		die "the kernels could not be built"
	with_sqlite=yes
	if ! build_sqlite; then
		with_sqlite=no
		echo "  SQLite could not be built, and is left out:"
		tail -3 "$WORK/sqlite.log" | sed 's/^/    /'
	fi
	(cd "$BUILD_DIR" && ls -sh programs/halo/perlin programs/halo/nussinov) | sed 's/^/  /'
	[ "$with_sqlite" = no ] || (cd "$BUILD_DIR" && ls -sh apps/halo/sqlite) | sed 's/^/  /'
}

# launch NAME EXE: starts it, working for ever; sets $pid
launch() {
	local name=$1 exe=$2
	: >"$WORK/$name.err"
	if [ "$name" = sqlite ]; then
		"$APPS" loop sqlite "$exe" >/dev/null 2>"$WORK/$name.err" &
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
	sqlite) "$APPS" run sqlite "$exe" ;;
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

# make_faster NAME EXE PLAIN TARGET-KIND LIMIT: the daemon gets LIMIT seconds for it
make_faster() {
	local name=$1 exe=$2 plain=$3 kind=$4 limit=$5 pid target before after begin took identical shown=0
	say "$name"
	launch "$name" "$exe"
	echo "  runs as process $pid; measuring how fast it is"
	mapfile -t before < <(rates "$pid" "$WORK/$name.err" "$SAMPLES")
	[ ${#before[@]} -eq "$SAMPLES" ] || die "$name does not work"
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
	took=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
	show "$HALO_BPF" explain "$exe"
	echo "  settled after $took s; measuring again"
	mapfile -t after < <(rates "$pid" "$WORK/$name.err" "$SAMPLES")
	[ ${#after[@]} -eq "$SAMPLES" ] || die "$name does not work any more"
	end_process "$pid"
	once "$name" "$plain" >"$WORK/$name.plain" || die "$name, plain, fails"
	once "$name" "$exe" >"$WORK/$name.halo" || die "$name fails under the daemon"
	identical=false
	cmp -s "$WORK/$name.plain" "$WORK/$name.halo" && identical=true
	note_figures "$name" "$took" "$identical"
}

# Uses before and after of make_faster.
note_figures() {
	local name=$1 took=$2 identical=$3 kind=kernel old new value low high
	[ "$name" = sqlite ] && kind=app
	old=$(printf '%s\n' "${before[@]}" | median)
	new=$(printf '%s\n' "${after[@]}" | median)
	read -r value low high < <(printf '%s\n' "${after[@]}" | sort -g |
		awk -v old="$old" 'NR == 1 { low = $1 } { high = $1 } { v[NR] = $1 }
			END { print v[(NR + 1) / 2] / old, low / old, high / old }')
	record "$FIGURES" program="$name" metric=speedup value="$value" unit=ratio against=O2 \
		policy=exact kind=$kind n="$SAMPLES" min="$low" max="$high" identical="$identical" \
		before="$old" after="$new"
	record "$FIGURES" program="$name" metric=time_to_switch value="$took" unit=s against=O2 \
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
make_faster nussinov "$PROGRAMS_DIR/halo/nussinov" "$PROGRAMS_DIR/plain/nussinov" pid 60
[ "$with_sqlite" = no ] ||
	make_faster sqlite "$BUILD_DIR/apps/halo/sqlite" "$BUILD_DIR/apps/plain/sqlite" build-id 45
show "$HALO_BPF" status
table
if [ ${#different[@]} -gt 0 ]; then
	die "the output of ${different[*]} is not that of the plain build"
fi
