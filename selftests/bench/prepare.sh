#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a prepared program costs while no daemon runs: CPU time of halo-cc -O2 builds against plain
# ones, in interleaved pairs; instructions; sizes of both files; time to compile; time to start.
# Writes build/bench-prepare.json.
#
#   prepare.sh [-i] [-p] [-n PAIRS] [NAME…]
#	-i  count the instructions of real programs too, which takes long
#	-p  measure kernels with -fpatchable-function-entry=18,16 too
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../lib.sh"
. "$HERE/lib.sh"

FIGURES=$BUILD_DIR/bench-prepare.json
APPS=$SELFTESTS_DIR/apps/app.sh
PAIRS=5
COUNT_APPS=
PADS=
while getopts ipn: opt; do
	case $opt in
	i) COUNT_APPS=1 ;;
	p) PADS=1 ;;
	n) PAIRS=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))

# note NAME KIND METRIC UNIT VALUE: one record that is no comparison of outputs
note() {
	record "$FIGURES" program="$1" metric="$3" unit="$4" against=plain policy=exact kind="$2" n=1 \
		identical=null value="$5"
}

# sizes NAME KIND PLAIN PREPARED: how much more of each the prepared file has
sizes() {
	local name=$1 kind=$2 what more line=
	for what in text data memory file; do
		more=$(($(size_of "$what" "$4") - $(size_of "$what" "$3")))
		note "$name" "$kind" "${what}_growth" bytes "$more"
		line+=$(printf ' %s %+d (%+.1f %%)' "$what" "$more" \
			"$(awk -v m="$more" -v o="$(size_of "$what" "$3")" 'BEGIN { print 100 * m / o }')")
	done
	printf '%-14s bytes:%s\n' "$name" "$line"
}

# size_of WHAT FILE: bytes of code, of data that is written, of all PT_LOAD segments, of the file
size_of() {
	case $1 in
	text) total < <(readelf -SW "$2" | sed 's/^ *\[ *[0-9]*\]//' | awk '$7 ~ /X/ { print "0x" $5 }') ;;
	data) total < <(readelf -SW "$2" | sed 's/^ *\[ *[0-9]*\]//' | awk '$7 ~ /W/ { print "0x" $5 }') ;;
	memory) total < <(readelf -lW "$2" | awk '$1 == "LOAD" { print $6 }') ;;
	file) stat -c %s "$2" ;;
	esac
}

# The sum of hexadecimal numbers
total() {
	local sum=0 number
	while read -r number; do
		sum=$((sum + number))
	done
	echo "$sum"
}

# instructions NAME KIND PLAIN PREPARED COMMAND…: what callgrind counts of each; @ as below
instructions() {
	local name=$1 kind=$2 plain prepared
	plain=$(instructions_of "$3" "${@:5}") || return 0
	prepared=$(instructions_of "$4" "${@:5}") || return 0
	note "$name" "$kind" instructions ratio \
		"$(awk -v a="$plain" -v b="$prepared" 'BEGIN { print b / a }')"
	awk -v n="$name" -v a="$plain" -v b="$prepared" \
		'BEGIN { printf "%-14s instructions %+.2f %%\n", n, 100 * (b / a - 1) }'
}

# instructions_of EXECUTABLE COMMAND…
instructions_of() {
	local exe=$1 counted=$WORK/counted
	shift
	command -v valgrind >/dev/null || return 1
	cat >"$counted" <<-END
		#!/bin/sh
		exec valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file=$WORK/callgrind.%p \
			"$exe" "\$@"
	END
	chmod +x "$counted"
	rm -f "$WORK"/callgrind.*
	"${@/#@/$counted}" >/dev/null 2>&1 || return 1
	awk '/Collected :/ { n += $4 } END { if (!n) exit 1; printf "%d", n }' "$WORK"/callgrind.*
}

# compile NAME KIND SOURCE FLAGS…: CPU time of halo-cc over that of clang
compile() {
	local name=$1 kind=$2 source=$3 clang=clang-19 halo=$HALO_CC
	shift 3
	[[ $source != *.cpp && $source != *.cc ]] || clang=clang++-19 halo=$HALO_CXX
	"$BUILD_DIR/bench-pairs" -n "$PAIRS" -p "$name" -m compile_ratio -a plain -k "$kind" -j "$FIGURES" \
		"$clang" "$@" -c "$source" -o "$WORK/compiled-plain.o" \
		:: "$halo" "$@" -c "$source" -o "$WORK/compiled-halo.o"
}

# compare NAME KIND PLAIN PREPARED COMMAND…: the command gets the executable in the place of @.
compare() {
	local name=$1 kind=$2 plain=$3 prepared=$4
	shift 4
	sizes "$name" "$kind" "$plain" "$prepared"
	"$BUILD_DIR/bench-pairs" -n "$PAIRS" -p "$name" -m overhead -a plain -k "$kind" -j "$FIGURES" \
		"${@/#@/$plain}" :: "${@/#@/$prepared}"
	[ -z "$COUNT_APPS" ] || instructions "$name" "$kind" "$plain" "$prepared" "$@"
}

# Where code comes to lie changes the time of a small hot loop by a quarter in either direction, and
# an entry moves it by 16 bytes: kernels are measured at four places, plain and prepared alike.
LAYOUTS=4

# link_at PLACE WAY NAME CC FLAGS…: $WORK/WAY-PLACE, the program moved by PLACE times 16 bytes
link_at() {
	local place=$1 way=$2 name=$3 cc=$4 objects=$PROGRAMS_DIR/plain/obj main=main.o
	shift 4
	[ "$name" != inmain ] || main=
	[ "$way" != halo ] || objects=$PROGRAMS_DIR/halo/obj
	printf '.text\n.fill %d, 1, 0x90\n.section .note.GNU-stack, "", @progbits\n' \
		$((place * 16)) >"$WORK/pad.s"
	"$cc" "$@" "$WORK/pad.s" "$WORK/$way.o" "$objects/program.o" ${main:+"$objects/$main"} \
		-lm -pthread -o "$WORK/$way-$place"
}

# kernel_pairs NAME ROUNDS METRIC WAY: plain against WAY, at each place
kernel_pairs() {
	local place
	rm -f "$WORK/places.json"
	for ((place = 0; place < LAYOUTS; place++)); do
		"$BUILD_DIR/bench-pairs" -n "$PAIRS" -p "$1" -m overhead -a plain -k kernel \
			-j "$WORK/places.json" "$WORK/plain-$place" --rounds "$2" \
			:: "$WORK/$4-$place" --rounds "$2" >/dev/null
	done
	note_places "$3"
}

bench_kernel() {
	local name=$1 rounds place cc=clang-19 halo_cc=$HALO_CC source=$SELFTESTS_DIR/programs/$1.c
	local flags=(-O2 -D_GNU_SOURCE)
	rounds=$(awk '$1 == "rounds" { print $2 }' "$SELFTESTS_DIR/programs/expected/$name")
	[ -e "$source" ] || cc=clang++-19 halo_cc=$HALO_CXX source=$SELFTESTS_DIR/programs/$1.cpp
	# Calls that -O2 would inline are what this one is about.
	[ "$name" != oop ] || flags=(-O1)
	compile "$name" kernel "$source" "${flags[@]}"
	"$cc" "${flags[@]}" -c "$source" -o "$WORK/plain.o"
	"$cc" "${flags[@]}" -fpatchable-function-entry=18,16 -c "$source" -o "$WORK/pads.o"
	"$halo_cc" "${flags[@]}" -c "$source" -o "$WORK/halo.o"
	for ((place = 0; place < LAYOUTS; place++)); do
		link_at "$place" plain "$name" "$cc" "${flags[@]}"
		link_at "$place" pads "$name" "$cc" "${flags[@]}"
		link_at "$place" halo "$name" "$halo_cc" "${flags[@]}"
	done
	sizes "$name" kernel "$WORK/plain-0" "$WORK/halo-0"
	instructions "$name" kernel "$WORK/plain-0" "$WORK/halo-0" @ --rounds $((rounds / 20 + 1))
	kernel_pairs "$name" "$rounds" overhead halo
	[ -z "$PADS" ] || kernel_pairs "$name" "$rounds" pads_overhead pads
}

# note_places METRIC: the mean over places of what was measured at each; min and max are those of
# the places.
note_places() {
	[ -s "$FIGURES" ] || echo '[]' >"$FIGURES"
	jq -s --arg metric "$1" '.[1] as $places | (.[0] // []) + [$places[0] + {
			metric: $metric, value: ([$places[].value + 1 | log] | add / length | exp - 1),
			n: ([$places[].n] | add), min: ([$places[].value] | min),
			max: ([$places[].value] | max),
			identical: ([$places[].identical] | all)}]' \
		"$FIGURES" "$WORK/places.json" >"$FIGURES.new"
	mv "$FIGURES.new" "$FIGURES"
	jq -r '.[-1] | [.program, .metric, .value, .min, .max, .n, (if .identical then "identical" else
			"OUTPUT DIFFERS" end)] | @tsv' "$FIGURES" |
		awk -F '\t' '{ printf "%-14s %s %7.3f [%.3f, %.3f] over places, n %d  %s\n",
				$1, $2, $3, $4, $5, $6, $7 }'
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

# Microseconds that a program which does nothing takes longer, and bytes it keeps in memory more.
bench_start() {
	local dir=$BUILD_DIR/obj/selftests/bench/start plain prepared more
	read -r plain prepared more < <("$BUILD_DIR/bench-start" 500 "$dir/true-plain" "$dir/true-halo")
	note true kernel start_growth us "$more"
	printf '%-14s start to end: %s us, prepared %s us, difference %s us\n' true "$plain" "$prepared" \
		"$more"
	plain=$("$dir/true-plain" memory)
	prepared=$("$dir/true-halo" memory)
	printf '%-14s memory in bytes: %s, prepared %s\n' true "$plain" "$prepared"
	note true kernel resident_growth bytes \
		$(($(awk '{ print $2 }' <<<"$prepared") - $(awk '{ print $2 }' <<<"$plain")))
	note true kernel private_growth bytes \
		$(($(awk '{ print $4 }' <<<"$prepared") - $(awk '{ print $4 }' <<<"$plain")))
}

need_no_daemon
work_dir
rm -f "$FIGURES"
bench_start
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
jq -r 'def percent: . * 10000 | round / 100;
	def geomean: map(log) | add / length | exp;
	[.[] | select(.metric == "overhead") | .value + 1] as $time |
	[.[] | select(.metric == "instructions") | .value] as $count |
	[.[] | select(.metric == "compile_ratio") | .value] as $compile |
	"CPU time: geometric mean \($time | geomean - 1 | percent) %, worst \($time | max - 1 | percent) %",
	(select($count != []) |
		"instructions: geometric mean \($count | geomean - 1 | percent) %, worst \($count | max - 1 | percent) %"),
	(select($compile != []) |
		"compile time: geometric mean \($compile | geomean * 100 | round / 100), worst \($compile | max * 100 | round / 100)")' \
	"$FIGURES"
