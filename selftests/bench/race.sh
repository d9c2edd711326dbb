# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced after lib.sh: a program under a live daemon against the same program built in other ways.
# All run at once and are let go in turns, in random order, so that what else the machine does hits
# all. A program is one of selftests/programs, or else of selftests/apps.

APP_SH=$SELFTESTS_DIR/apps/app.sh
# shellcheck disable=SC2034 # for those who source this
SETTLE=90 # seconds that the daemon gets
TRAINED_FLAGS=(-O3 -march=native -ffp-contract=off)

is_kernel() {
	[ -e "$SELFTESTS_DIR/programs/expected/$1" ]
}

# kind_of NAME: for the records
kind_of() {
	if is_kernel "$1"; then echo kernel; else echo app; fi
}

# exe_of WAY NAME: way is halo, plain or pgo
exe_of() {
	if is_kernel "$2"; then echo "$PROGRAMS_DIR/$1/$2"; else echo "$BUILD_DIR/apps/$1/$2"; fi
}

expected_rounds() {
	awk '$1 == "rounds" { print $2 }' "$SELFTESTS_DIR/programs/expected/$1"
}

# work_once NAME EXE: a fixed amount of work; its results on standard output
work_once() {
	if is_kernel "$1"; then "$2" --rounds "$(expected_rounds "$1")"; else "$APP_SH" run "$1" "$2"; fi
}

newer_than_tools() {
	[ -e "$1" ] && [ "$1" -nt "$HALO_CC" ] && [ "$1" -nt "$BUILD_DIR/halo-prepare.so" ]
}

# build_app NAME: prepared and plain, unless they are there
build_app() {
	local name=$1
	newer_than_tools "$(exe_of halo "$name")" || "$APP_SH" build "$name" "$HALO_CC" "$HALO_CXX" -O2 \
		"$BUILD_DIR/apps/halo" >"$WORK/build.log" 2>&1 || die "$name can't be built" "see $WORK/build.log"
	[ -e "$(exe_of plain "$name")" ] || "$APP_SH" build "$name" clang-19 clang++-19 -O2 \
		"$BUILD_DIR/apps/plain" >"$WORK/build.log" 2>&1 || die "$name can't be built"
}

# build_trained_app NAME FLAGS OUTDIR
build_trained_app() {
	"$APP_SH" build "$1" clang-19 clang++-19 "$2" "$3" >"$WORK/build.log" 2>&1 ||
		die "$1 can't be built with $2" "$(tail -3 "$WORK/build.log")"
}

# build_kernel NAME FLAGS EXE
build_kernel() {
	local name=$1 out=$3 dir=$SELFTESTS_DIR/programs compiler=clang-19 unit objects=() options
	read -ra options <<<"$2 -D_GNU_SOURCE -I$dir"
	for unit in program main; do
		[ "$name $unit" = "inmain main" ] && continue
		clang-19 "${TRAINED_FLAGS[@]}" -D_GNU_SOURCE -I"$dir" -c "$dir/$unit.c" -o "$WORK/$unit.o"
		objects+=("$WORK/$unit.o")
	done
	[ ! -e "$dir/$name.cpp" ] || compiler=clang++-19
	"$compiler" "${options[@]}" "$dir/$name".c* "${objects[@]}" -o "$out" -lm -pthread
}

# build_trained NAME: -O3 for this CPU with a profile of the very work that is measured, which is the
# best that a rebuild could do.
build_trained() {
	local name=$1 exe train sources flags="${TRAINED_FLAGS[*]}"
	exe=$(exe_of pgo "$name")
	sources=("$SELFTESTS_DIR/programs/$name".c*)
	[ ! "$exe" -nt "${sources[0]}" ] || return 0
	mkdir -p "$(dirname "$exe")" "$WORK/train"
	train=$WORK/train/$name
	if is_kernel "$name"; then
		build_kernel "$name" "$flags -fprofile-generate" "$train"
	else
		build_trained_app "$name" "$flags -fprofile-generate" "$WORK/train"
	fi
	LLVM_PROFILE_FILE=$WORK/train-%p.profraw work_once "$name" "$train" >/dev/null
	llvm-profdata-19 merge -o "$WORK/$name.profdata" "$WORK"/train-*.profraw
	rm -f "$WORK"/train-*.profraw
	flags+=" -fprofile-use=$WORK/$name.profdata"
	if is_kernel "$name"; then
		build_kernel "$name" "$flags" "$exe"
	else
		build_trained_app "$name" "$flags" "$(dirname "$exe")"
	fi
}

# build_ways NAME
build_ways() {
	is_kernel "$1" || build_app "$1"
	build_trained "$1"
}

# launch NAME WAY: it works for ever; sets pid[WAY]
launch() {
	local exe
	exe=$(exe_of "$2" "$1")
	: >"$WORK/$2.err"
	if is_kernel "$1"; then
		"$exe" --endless >/dev/null 2>"$WORK/$2.err" &
	else
		"$APP_SH" loop "$1" "$exe" >/dev/null 2>"$WORK/$2.err" &
	fi
	pid[$2]=$!
	at_exit "end_process ${pid[$2]}"
	wait_for 20 test "/proc/${pid[$2]}/exe" -ef "$exe" || die "$1 does not start"
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

# take_turns NAME TURNS WAY…: all of pid[] stand still before and after
take_turns() {
	local name=$1 n=$2 way i
	shift 2
	rm -f "$WORK"/*.rates
	for ((i = 0; i < n; i++)); do
		for way in $(printf '%s\n' "$@" | shuf); do
			turn "$way" || die "$name ($way) does not work"
			echo "$REPLY" >>"$WORK/$way.rates"
		done
	done
}

# same_output NAME: does the prepared program print, under the daemon, what the plain one does? true or
# false
same_output() {
	local name=$1
	if is_kernel "$name"; then
		cat "$SELFTESTS_DIR/programs/expected/$name" >"$WORK/expected"
	else
		work_once "$name" "$(exe_of plain "$name")" >"$WORK/expected"
	fi
	if work_once "$name" "$(exe_of halo "$name")" | cmp -s - "$WORK/expected"; then
		echo true
	else
		echo false
	fi
}

# compare WAY AGAINST: rates of one over those of the other, turn by turn: "median least most"
compare() {
	paste "$WORK/$1.rates" "$WORK/$2.rates" | awk '{ print $1 / $2 }' | sort -g |
		awk '{ v[NR] = $1 } END {
			print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[1], v[NR] }'
}
