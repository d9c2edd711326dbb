#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a profile taken from the running program is worth: the variant that the daemon finds without a
# search over knobs, against the shipped -O2 build, and against clang -O3 -march=native with an
# instrumented profile of the very work that is measured. Also how long the code that counts ran, how
# long compiling took, and when the first faster variant ran. Writes build/bench-pgo.json.
#
#   pgo.sh [-n TURNS] [NAME…]    names of selftests/programs and selftests/apps
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../lib.sh"
. "$HERE/lib.sh"
. "$HERE/race.sh"

FIGURES=$BUILD_DIR/bench-pgo.json
QUICK_APPS=(lua sqlite jq) # of those that gain from a profile
TURNS=7
while getopts n: opt; do
	case $opt in
	n) TURNS=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))

# The CPU's instructions and tuning, without and with counts: nothing else is tried.
make_knobs() {
	mkdir -p "$WORK/knobs"
	cp "$SOURCE_DIR/knobs/knobs.json" "$WORK/knobs"
	jq 'map(select(.name == "host" or .name == "profile"))' "$SOURCE_DIR/knobs/configs.json" \
		>"$WORK/knobs/configs.json"
}

# timings: of the events of a program (halo -j explain), on standard input, in seconds: from the start
# to the first adoption, of counting (sum and longest), of compiling (mean and longest). "-": none.
timings() {
	jq -r --argjson start "$1" '
		def at: .time | (.[:19] + "Z" | fromdate) + (.[19:23] | tonumber);
		def text(s): if . == null then "-" else . * 100 | round / 100 end;
		.events as $e |
		([$e[] | select(.text | test(": adopted "))][0] | if . then at - $start else null end) as $first |
		([$e[] | .text | capture("counted .* in (?<n>[0-9]+) bursts of (?<s>[0-9.]+) s") |
			.s | tonumber]) as $bursts |
		([range($e | length) as $i | $e[$i] | select(.text | test(": counting, ")) |
			(.text | split(": ")[0]) as $root | at as $from |
			[$e[$i:][] | select(.text | startswith($root + ": counted "))][0] |
			select(.) | at - $from]) as $count |
		([$e[] | .text | capture("compiled .* in (?<s>[0-9.]+) s") | .s | tonumber]) as $compile |
		[$first, ($bursts | add), ($count | max), ($compile | if . == [] then null else add / length end),
			($compile | max)] | map(text(.)) | join(" ")'
}

# note NAME AGAINST OF VALUE…
note() {
	record "$FIGURES" program="$1" metric=speedup unit=ratio against="$2" policy=exact \
		kind="$(kind_of "$1")" n="$TURNS" value="$4" min="$5" max="$6" identical="$3"
}

note_time() {
	[ "$3" = - ] || record "$FIGURES" program="$1" metric="$2" unit=s policy=exact \
		kind="$(kind_of "$1")" n=1 value="$3"
}

bench() {
	local name=$1 way exe start identical version plain trained times
	declare -A pid
	exe=$(exe_of halo "$name")
	build_ways "$name"
	launch "$name" halo
	start=$EPOCHREALTIME
	halo enroll "$exe" >/dev/null
	wait_for "$SETTLE" settled "$exe" || true
	launch "$name" plain
	launch "$name" pgo
	kill -STOP "${pid[@]}"
	take_turns "$name" "$TURNS" halo plain pgo
	for way in "${!pid[@]}"; do
		end_process "${pid[$way]}"
	done
	version=$(program_status "$exe" | jq -r '[.sections[] | .version] | unique |
		if . == [] then "original" else join(",") end')
	halo -j explain "$exe" >"$WORK/explain.json"
	cp "$WORK/explain.json" "$BUILD_DIR/bench-pgo-$name.explain.json"
	read -ra times < <(timings "$start" <"$WORK/explain.json")
	identical=$(same_output "$name")
	read -ra plain < <(compare halo plain)
	read -ra trained < <(compare halo pgo)
	note "$name" O2 "$identical" "${plain[@]}"
	note "$name" O3-native-pgo "$identical" "${trained[@]}"
	note_time "$name" first_faster "${times[0]}"
	note_time "$name" counting_cpu "${times[1]}"
	note_time "$name" counting "${times[2]}"
	note_time "$name" compile_mean "${times[3]}"
	note_time "$name" compile_max "${times[4]}"
	echo "${trained[0]}" >>"$WORK/trained"
	echo "${plain[0]}" >>"$WORK/plain"
	printf '%-14s %6.3f [%.3f, %.3f] %7.3f [%.3f, %.3f] %7s %8s %8s %8s %6s  %s %s\n' "$name" \
		"${plain[@]}" "${trained[@]}" "${times[0]}" "${times[2]}" "${times[1]}" "${times[3]}" \
		"${times[4]}" "$([ "$identical" = true ] && echo same || echo DIFFERS)" "$version"
	halo unenroll "$exe" >/dev/null
}

geometric_mean() {
	awk '{ s += log($1) } END { printf "%.3f", exp(s / NR) }' "$1"
}

[ "$(id -u)" -eq 0 ] || die "the daemon needs root" "sudo make bench-pgo"
need_no_daemon
work_dir
make_knobs
rm -f "$FIGURES"
DAEMON_PID=$(halo -j start --knobs "$WORK/knobs" | jq .pid)
at_exit stop_daemon
if [ $# -eq 0 ]; then
	mapfile -t names < <(ls "$SELFTESTS_DIR/programs/expected")
	set -- "${names[@]}" "${QUICK_APPS[@]}"
fi
printf '%-14s %6s %14s %8s %14s %7s %8s %8s %8s %6s\n' program "/ -O2" '[least, most]' '/ PGO' \
	'[least, most]' 'first s' 'profile' 'bursts' 'compile' 'max'
for name in "$@"; do
	bench "$name"
done
mean=$(geometric_mean "$WORK/trained")
ahead=$(awk '$1 > 1 { n++ } END { print n + 0 }' "$WORK/trained")
record "$FIGURES" program=all metric=speedup_mean unit=ratio against=O3-native-pgo policy=exact kind=all \
	n=$# value="$mean"
printf 'geometric mean: %s against -O2, %s against -O3 -march=native with a profile, ahead on %d of %d\n' \
	"$(geometric_mean "$WORK/plain")" "$mean" "$ahead" $#
