#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a prepared program costs while no daemon runs: CPU time of halo-cc -O2 builds against plain
# ones, in interleaved pairs, and the sizes of both files. Writes build/bench-prepare.json.
#
#   prepare.sh [-n PAIRS] [NAME…]
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../lib.sh"
. "$HERE/lib.sh"

FIGURES=$BUILD_DIR/bench-prepare.json
APPS=$SELFTESTS_DIR/apps/app.sh
PAIRS=5
while getopts n: opt; do
	case $opt in
	n) PAIRS=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))

# sizes NAME KIND PLAIN PREPARED: bytes in the file, and bytes loaded into memory
sizes() {
	local plain loaded prepared
	plain=$(loaded_size "$3")
	prepared=$(loaded_size "$4")
	loaded=$((prepared - plain))
	record "$FIGURES" program="$1" metric=file_growth unit=bytes against=plain policy=exact \
		kind="$2" n=1 identical=null \
		value=$(($(stat -c %s "$4") - $(stat -c %s "$3")))
	record "$FIGURES" program="$1" metric=memory_growth unit=bytes against=plain policy=exact \
		kind="$2" n=1 identical=null value="$loaded"
}

# loaded_size FILE: bytes of its PT_LOAD segments in memory
loaded_size() {
	readelf -lW "$1" | awk '$1 == "LOAD" { print $6 }' | while read -r size; do
		echo $((size))
	done | awk '{ n += $1 } END { print n }'
}

# compare NAME KIND PLAIN PREPARED COMMAND…: the command gets the executable in the place of @.
compare() {
	local name=$1 kind=$2 plain=$3 prepared=$4
	shift 4
	sizes "$name" "$kind" "$plain" "$prepared"
	"$BUILD_DIR/bench-pairs" -n "$PAIRS" -p "$name" -m overhead -a plain -k "$kind" -j "$FIGURES" \
		"${@/#@/$plain}" :: "${@/#@/$prepared}"
}

# Where code comes to lie changes the time of a small hot loop by a quarter in either direction, and
# an entry moves it by 16 bytes: kernels are measured at four places, plain and prepared alike.
LAYOUTS=4

# link_at PLACE WAY NAME CC: $WORK/WAY-PLACE, the program moved by PLACE times 16 bytes
link_at() {
	local objects=$PROGRAMS_DIR/$2/obj main=main.o
	[ "$3" != inmain ] || main=
	printf '.text\n.fill %d, 1, 0x90\n.section .note.GNU-stack, "", @progbits\n' \
		$(($1 * 16)) >"$WORK/pad.s"
	"$4" -O2 "$WORK/pad.s" "$objects/$3.o" "$objects/program.o" ${main:+"$objects/$main"} \
		-lm -pthread -o "$WORK/$2-$1"
}

bench_kernel() {
	local name=$1 rounds place cc=clang-19 halo_cc=$HALO_CC
	rounds=$(awk '$1 == "rounds" { print $2 }' "$SELFTESTS_DIR/programs/expected/$name")
	[ -e "$SELFTESTS_DIR/programs/$name.c" ] || cc=clang++-19 halo_cc=$HALO_CXX
	sizes "$name" kernel "$PROGRAMS_DIR/plain/$name" "$PROGRAMS_DIR/halo/$name"
	rm -f "$WORK/places.json"
	for ((place = 0; place < LAYOUTS; place++)); do
		link_at "$place" plain "$name" "$cc"
		link_at "$place" halo "$name" "$halo_cc"
		"$BUILD_DIR/bench-pairs" -n "$PAIRS" -p "$name" -m overhead -a plain -k kernel \
			-j "$WORK/places.json" "$WORK/plain-$place" --rounds "$rounds" \
			:: "$WORK/halo-$place" --rounds "$rounds" >/dev/null
	done
	note_places
}

# The mean over places of what was measured at each; min and max are those of the places.
note_places() {
	jq -s '.[1] as $places | (.[0] // []) + [$places[0] + {
			value: ([$places[].value + 1 | log] | add / length | exp - 1),
			n: ([$places[].n] | add), min: ([$places[].value] | min),
			max: ([$places[].value] | max),
			identical: ([$places[].identical] | all)}]' \
		"$FIGURES" "$WORK/places.json" >"$FIGURES.new"
	mv "$FIGURES.new" "$FIGURES"
	jq -r '.[-1] | [.program, .value, .min, .max, .n, (if .identical then "identical" else
			"OUTPUT DIFFERS" end)] | @tsv' "$FIGURES" |
		awk -F '\t' '{ printf "%-14s overhead %7.3f [%.3f, %.3f] over places, n %d  %s\n",
				$1, $2, $3, $4, $5, $6 }'
}

bench_app() {
	local plain=$BUILD_DIR/apps/plain/$1 prepared=$BUILD_DIR/apps/halo/$1 log=$WORK/$1.log
	if ! [ -e "$plain" ] || ! [ "$prepared" -nt "$BUILD_DIR/halo-prepare.so" ]; then
		if ! { "$APPS" build "$1" clang-19 clang++-19 -O2 "$BUILD_DIR/apps/plain" &&
			"$APPS" build "$1" "$HALO_CC" "$HALO_CXX" -O2 "$BUILD_DIR/apps/halo"; } \
			>"$log" 2>&1; then
			printf '%-14s could not be built: %s\n' "$1" "$(tail -n 1 "$log")"
			return
		fi
	fi
	"$APPS" run "$1" "$plain" >/dev/null # the input is made now
	compare "$1" app "$plain" "$prepared" "$APPS" run "$1" @
}

need_no_daemon
work_dir
rm -f "$FIGURES"
if [ $# -eq 0 ]; then
	mapfile -t names < <(ls "$SELFTESTS_DIR/programs/expected" && "$APPS" list)
	set -- "${names[@]}"
fi
for name in "$@"; do
	if [ -e "$SELFTESTS_DIR/programs/expected/$name" ]; then
		bench_kernel "$name"
	else
		bench_app "$name"
	fi
done
jq -r '[.[] | select(.metric == "overhead") | .value] | sort |
	"median overhead \(100 * .[length / 2 | floor] * 100 | round / 100) %, worst \(100 * .[-1] * 100 | round / 100) %"' "$FIGURES"
