#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Code that counts, and code that was compiled with the counts: halo-opt by hand. What is counted is
# compared with what clang's own instrumentation of the same program counts.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

HALO_OPT=$BUILD_DIR/halo-opt
SOURCES=$SELFTESTS_DIR/e2e/pgo
PLACE=$((-(1 << 30)))
AREA=$((PLACE + (64 << 20) + (128 << 10)))
AREA_SIZE=$((880 << 10))
SITE_SIZE=128

need_built "$HALO_CC" "$HALO_OPT"
work_dir
EXE=$WORK/prepared

# ask NAME FILTER: a job on work(), changed by the filter; its folder is $WORK/NAME
ask() {
	mkdir -p "$WORK/$1"
	jq -nc --argjson place "$PLACE" --slurpfile configs "$SOURCE_DIR/knobs/configs.json" \
		--argjson area "$AREA" --argjson size "$AREA_SIZE" --argjson cpus "$(nproc --all)" \
		--argjson at "$((0x$(nm "$EXE" | awk '$3 == "work" { print $1 }')))" \
		--argjson rseq "${RSEQ:-0}" \
		'{job: "count", root: {function: "work", unit: 0}, samples: [[$at, 100]],
		  config: $configs[0][0], fp: "exact", place: $place, room: 65536,
		  counters: {place: $area, room: $size, cpus: $cpus, rseq: $rseq}}' |
		jq -c "$2" >"$WORK/$1/request"
	"$HALO_OPT" 0<"$WORK/$1/request" 3<"$EXE" 4<"$WORK/$1" >"$WORK/$1/answer" 2>>"$WORK/log" ||
		echo '{"status": "crash"}' >"$WORK/$1/answer"
}

answer() {
	jq -r "$2" "$WORK/$1/answer"
}

# run NAME [AREA SIZE]: the program with that job's image
run() {
	local name=$1
	shift
	"$EXE" "$(answer "$name" .root.slot)" "$(answer "$name" .entry)" "$PLACE" \
		"$WORK/$name/image.elf" "$@"
}

# profile NAME: member "profile" of a request, from what the image of job NAME has left in words
profile() {
	jq -nc --rawfile words "$WORK/$1/words" --slurpfile answer "$WORK/$1/answer" --argjson site $SITE_SIZE '
		$answer[0].counted as $c |
		[$words | split("\n")[] | select(. != "") | split(" ")] as $lines |
		($lines | map(select(.[0] == "bias"))[0][1] | tonumber) as $bias |
		($lines | map(select(.[0] != "bias") | {key: .[0], value: (.[1] | tonumber)}) | from_entries) as $w |
		{map: $c.map, bias: $bias,
		 counts: [range($c.counters) as $n |
			[range($c.copies) | $w[(. * $c.stride / 8 + $n | tostring)] // 0] | add],
		 values: [range($c.sites) as $s | (($c.copies * $c.stride + $s * $site) / 8) as $at |
			select($w[($at | tostring)]) |
			([$s, 0, $w[($at | tostring)]],
			 (range(1; $site / 16) as $i | select($w[($at + 2 * $i | tostring)]) |
				[$s, $w[($at + 2 * $i | tostring)] - 1, $w[($at + 2 * $i + 1 | tostring)]]))]}'
}

# Counts as llvm-profdata reads them
text_profile() {
	jq -r '":ir", (. as $p | .map.functions[] |
		.name, "\(.hash)", .count, ($p.counts[.first:.first + .count][]), "")' |
		while read -r line; do
			if [[ $line =~ ^[0-9a-f]{16}$ ]]; then
				printf '%llu\n' "0x$line"
			else
				echo "$line"
			fi
		done
}

"$HALO_CC" -O2 "$SOURCES"/{work,main}.c -D_GNU_SOURCE -pthread -o "$EXE"
clang-19 -O2 "$SOURCES"/{work,main}.c -D_GNU_SOURCE -pthread -o "$WORK/plain"
"$WORK/plain" >"$WORK/expected"

ask count .
tap_is "code that counts: made" ok "$(answer count .status)"
tap_is "what it calls is counted with it" "copy seldom work" \
	"$(answer count '[.counted.map.members[].function] | sort | join(" ")')"
tap_is "code that counts: computes the same" "$(cat "$WORK/expected")" \
	"$(run count $AREA $AREA_SIZE 2>"$WORK/count/words")"
profile count >"$WORK/profile"
tap_is "entered and left as often as called" "800 800" "$(jq -r '.counts[:2] | join(" ")' "$WORK/profile")"

tap_is "each target of the indirect call is counted" "50400 749600" \
	"$(jq -r '[.values[] | select(.[1] > 1000) | .[2]] | sort | join(" ")' "$WORK/profile")"
tap_is "each size of a copy is counted" "8:748800 64:2 24:25600" \
	"$(jq -r '[.values[] | select(.[1] > 0 and .[1] < 1000) | "\(.[1]):\(.[2])"] | sort_by(.[:1] | tonumber * -1) | join(" ")' "$WORK/profile")"

# Against clang's own instrumentation, runtime included.
clang-19 -O2 -fprofile-generate "$SOURCES"/{work,main}.c -D_GNU_SOURCE -pthread -mllvm -instrprof-atomic-counter-update-all \
	-o "$WORK/instrumented"
LLVM_PROFILE_FILE=$WORK/clang.profraw "$WORK/instrumented" >/dev/null
llvm-profdata-19 merge "$WORK/clang.profraw" -o "$WORK/clang.profdata"
text_profile <"$WORK/profile" >"$WORK/ours.proftext"
llvm-profdata-19 merge "$WORK/ours.proftext" -o "$WORK/ours.profdata"
# counts_of FUNCTION FILE: each once. Whose edges get counters is the compiler's choice, how often they
# are taken is not.
counts_of() {
	llvm-profdata-19 show --counts --all-functions "$2" | grep -A 4 -E "^  (.*;)?$1:" |
		sed -n 's/.*Block counts: \[\(.*\)\]/\1/p' | tr -d , | tr ' ' '\n' | sort -nu
}
for name in work copy; do
	tap_is "$name(): all counts are among clang's" "" "$(
		comm -23 <(counts_of $name "$WORK/ours.profdata" | sort) <(counts_of $name "$WORK/clang.profdata" | sort))"
	tap_like "$name(): there are some" '[1-9]' "$(counts_of $name "$WORK/ours.profdata" | head -n 1)"
done

# Two threads, a copy of the counters for each CPU, found by the number that the kernel keeps in rseq.
RSEQ=$(gdb -batch -ex 'break main' -ex run -ex 'print (long)__rseq_offset' "$EXE" 2>/dev/null |
	awk '/^\$1/ { print $3 }')
if [ -n "$RSEQ" ] && [ "$RSEQ" != 0 ]; then
	ask per_cpu .
	tap_is "a copy for each CPU" true "$(answer per_cpu ".counted.copies >= $(nproc --all)")"
	tap_is "counting per CPU: computes the same" "$(cat "$WORK/expected")" \
		"$(run per_cpu $AREA $AREA_SIZE 2>"$WORK/per_cpu/words")"
	profile per_cpu >"$WORK/per_cpu/profile"
	# Only a thread that is moved between reading the CPU's number and the addition can lose one.
	tap_is "counting per CPU: at most one in a thousand is lost" true "$(jq -n \
		--slurpfile a "$WORK/profile" --slurpfile b "$WORK/per_cpu/profile" \
		'($b[0].counts | add) / ($a[0].counts | add) | . > 0.999 and . <= 1')"
else
	tap_skip "a copy for each CPU" "no rseq in this C library"
fi

ask bare '.job = "root" | del(.counters)'
ask used '.job = "root" | del(.counters) | .profile = '"$(cat "$WORK/profile")"
tap_is "code with counts: made" ok "$(answer used .status)"
tap_is "code with counts: computes the same" "$(cat "$WORK/expected")" "$(run used)"
tap_is "code without: too" "$(cat "$WORK/expected")" "$(run bare)"
tap_is "no counts were dropped" "" "$(grep 'are of other code' "$WORK/log" || true)"

disassemble() {
	objdump -d --no-show-raw-insn "$WORK/$1/image.elf"
}
calls() {
	disassemble "$1" | grep -Ec 'call +\*' || true
}
tap_is "without counts there is one indirect call" 1 "$(calls bare)"
tap_like "with counts its frequent target is compared with, and inlined" 'lea .*|cmp ' "$(disassemble used)"
twice=$(nm "$EXE" | awk '$3 == "twice" { print $1 }')
tap_is "the comparison is with the program's twice(), not with a copy" true "$(
	disassemble used | awk '
		match($0, /# [0-9a-f]+/) { print substr($0, RSTART + 2, RLENGTH - 2) }' |
		while read -r at; do
			[ $((0x$at)) -ne $((0x$twice + (1 << 32))) ] || echo true
		done | head -n 1)"
tap_like "a frequent size is copied without a call" 'cmp +\$0x8,' "$(disassemble used)"
tap_is "without counts it is not" 0 "$(disassemble bare | grep -Ec 'cmp +\$0x8,' || true)"

cold=$(nm "$WORK/used/image.elf" | awk '/ work\.cold$/ { print $1 }')
tap_like "with counts, what never runs is apart" '^[0-9a-f]+$' "$cold"
tap_is "behind all that runs" "" "$(nm "$WORK/used/image.elf" |
	awk -v cold="$cold" 'tolower($2) == "t" && $3 !~ /\.cold/ && $1 > cold { print $3 }')"
tap_is "without counts it is not" 0 "$(nm "$WORK/bare/image.elf" | grep -c '\.cold' || true)"

# The same job, in another folder and process.
ask again '.job = "root" | del(.counters) | .profile = '"$(cat "$WORK/profile")"
RSEQ=0 ask count_again .
for name in used/again count/count_again; do
	for file in image.elf object.o; do
		tap_run "the same job gives the same $file: ${name%/*}" \
			cmp "$WORK/${name%/*}/$file" "$WORK/${name#*/}/$file"
	done
done

# Counts of other code, and lies.
ask stale '.job = "root" | del(.counters) | .profile = '"$(jq -c '.map.functions[].hash = "00000000000000aa"' "$WORK/profile")"
tap_is "counts of other code are dropped" ok "$(answer stale .status)"
tap_like "and it is said" 'counts of [1-9][0-9]* functions are of other code' "$(cat "$WORK/log")"
tap_is "and the code is right" "$(cat "$WORK/expected")" "$(run stale)"
for lie in '.map = 7' 'del(.bias)' '.counts = ["a"]' '.counts = .counts[:3]' '.map.functions[0].first = 99999' \
	'.map.functions[0].sites = [1]' '.values = [[3, 1]]' '.values = [[9, 0, 1], [2, 0, 1]]' '.map.members = [1]'; do
	ask lie '.job = "root" | del(.counters) | .profile = '"$(jq -c "$lie" "$WORK/profile")"
	tap_is "refused: $lie" error "$(answer lie .status)"
done
for lie in 'del(.counters)' '.counters.place = 7' '.counters.cpus = 0' '.counters.rseq = 99999999999'; do
	ask lie "$lie"
	tap_is "refused: $lie" error "$(answer lie .status)"
done
ask small '.counters.room = 64'
tap_is "no room for the counters: none" none "$(answer small .status)"
tap_like "no room for the counters: said so" 'too many counters' "$(answer small .reason)"

tap_done
