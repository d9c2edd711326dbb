#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# From branch stacks to code: a recorder single-steps a prepared program, and what the worker infers of
# the branches is compared, as llvm-profdata does it, with what clang's instrumentation counts. Then the
# daemon makes a variant of branches by itself.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
HALO_OPT=$BUILD_DIR/halo-opt
RECORDER=$BUILD_DIR/selftests/lbr/recorder
SOURCES=$SELFTESTS_DIR/e2e/pgo
PLACE=$((-(1 << 30)))
AREA=$((PLACE + (64 << 20) + (128 << 10)))
AREA_SIZE=$((880 << 10))
ROUNDS=2
export HALO_PROBES=1
need_built "$HALO_CC" "$HALO_OPT" "$RECORDER"
command -v llvm-profdata-19 >/dev/null || skip_all "llvm-profdata-19 is missing: tools/install-deps.sh"
work_dir
EXE=$WORK/work
"$HALO_CC" -O2 "$SOURCES"/{work,main}.c -D_GNU_SOURCE -pthread -o "$EXE"

# record: branches of $EXE, as a request has them, into $WORK/branches
record() {
	"$HALO_BPF" profile "$EXE" --seconds 300 --format recording -o "$WORK/recording" 2>"$WORK/recording.err" &
	local pid=$!
	wait_for 30 sh -c "'$HALO_BPF' -j list | grep -q '/work\"'"
	"$RECORDER" -b "$EXE" recorded $ROUNDS >"$WORK/recorded.out" 2>"$WORK/recorded.count"
	kill -INT "$pid"
	wait "$pid"
	# Link-time addresses, as BOLT has them.
	"$HALO_BPF" profile --from "$WORK/recording" --format bolt -o "$WORK/bolt" 2>/dev/null
	while read -r kind a b count _; do
		echo "$kind $((0x$a)) $((0x$b)) $count"
	done <"$WORK/bolt" | jq -Rnc '[inputs | split(" ") | [.[0], (.[1:] | map(tonumber))]] |
		{ranges: map(select(.[0] == "F") | .[1]), edges: map(select(.[0] == "B") | .[1])}' >"$WORK/branches"
}

# ask NAME FILTER [PROGRAM]: a job on work(), changed by the filter; its folder is $WORK/NAME
ask() {
	mkdir -p "$WORK/$1"
	jq -nc --argjson place "$PLACE" --slurpfile configs "$SOURCE_DIR/knobs/configs.json" \
		--slurpfile branches "$WORK/branches" \
		--argjson at "$((0x$(nm "$EXE" | awk '$3 == "work" { print $1 }')))" \
		'{job: "root", root: {function: "work", unit: 0}, samples: [[$at, 100]],
		  config: $configs[0][0], fp: "exact", place: $place, room: 65536, branches: $branches[0]}' |
		jq -c "$2" >"$WORK/$1/request"
	"$HALO_OPT" 0<"$WORK/$1/request" 3<"${3:-$EXE}" 4<"$WORK/$1" >"$WORK/$1/answer" 2>>"$WORK/log" ||
		echo '{"status": "crash"}' >"$WORK/$1/answer"
}
answer() {
	jq -r "$2" "$WORK/$1/answer"
}
run() {
	"$EXE" "$(answer "$1" .root.slot)" "$(answer "$1" .entry)" "$PLACE" "$WORK/$1/image.elf" "${@:2}"
}

with_daemon HALO_BRANCH_FEED=1
record
tap_like "the recorder hands over stacks" '^branches [1-9][0-9]+ stacks [1-9][0-9]+$' "$(cat "$WORK/recorded.count")"
ask bare 'del(.branches)'
ask used .
tap_is "code by branches: made" ok "$(answer used .status)"

# The same program on the same input, instrumented: pgo.sh compares these counts with clang's.
ask count 'del(.branches) | .job = "count" |
	.counters = {place: '$AREA', room: '$AREA_SIZE', cpus: 1, rseq: 0}'
run count $AREA $AREA_SIZE $ROUNDS >"$WORK/alone.out" 2>"$WORK/words"
tap_is "the program's output is the same under the recorder" "$(cat "$WORK/alone.out")" "$(cat "$WORK/recorded.out")"
answer count .counted.map >"$WORK/map"
jq -Rn --slurpfile map "$WORK/map" '([inputs | split(" ") | {key: .[0], value: (.[1] | tonumber? // 0)}] | from_entries) as $w |
	{map: $map[0], counts: [range([$map[0].functions[] | .first + .count] | max) | $w[tostring] // 0]}' \
	"$WORK/words" >"$WORK/counted"

# profdata FILE: counts as llvm-profdata has them, of functions that code was made to count of
profdata() {
	jq -r --slurpfile map "$WORK/map" '[$map[0].functions[].name] as $names | ":ir", (. as $p | .map.functions[] |
		select(.name | IN($names[])) | .name, "0x\(.hash)", .count, ($p.counts[.first:.first + .count][]), "")' "$1" |
		while read -r line; do
			if [[ $line =~ ^0x[0-9a-f]{16}$ ]]; then
				printf '%llu\n' "$line"
			else
				echo "$line"
			fi
		done >"$1.proftext"
	llvm-profdata-19 merge "$1.proftext" -o "$1.profdata"
}
answer used .inferred >"$WORK/inferred"
profdata "$WORK/counted"
profdata "$WORK/inferred"
tap_is "the same functions, with the same blocks" "$(sed -n '/[a-z]/,+2p' "$WORK/counted.proftext")" \
	"$(sed -n '/[a-z]/,+2p' "$WORK/inferred.proftext")"
overlap=$(llvm-profdata-19 overlap "$WORK/counted.profdata" "$WORK/inferred.profdata" |
	awk '/Edge profile overlap:/ { print $4 + 0; exit }')
echo "# overlap by llvm-profdata: $overlap %"
tap_is "counts by branches overlap with what was counted, by 90 %" true "$(jq -n "$overlap >= 90")"

# The code that comes of it.
"$EXE" >"$WORK/expected"
tap_is "code by branches: computes the same" "$(cat "$WORK/expected")" "$(run used)"
tap_is "code without: too" "$(cat "$WORK/expected")" "$(run bare)"
disassemble() {
	objdump -d --no-show-raw-insn "$WORK/$1/image.elf"
}
# Whether what only seldom() needs is behind the loop, by the constant that it multiplies with.
is_behind() {
	disassemble "$1" | awk '/call .*<copy>/ && !loop { loop = NR } /0x9e3779b97f4a7c15/ { seldom = NR }
		END { print (seldom > loop ? "yes" : "no") }'
}
tap_is "what runs seldom is in the way of the loop without branches" no "$(is_behind bare)"
tap_is "and out of it with them" yes "$(is_behind used)"
twice=$(nm "$EXE" | awk '$3 == "twice" { print $1 }')
# compares_twice NAME: does it compare with the program's twice(), which is 4 GiB above as objdump has it?
compares_twice() {
	disassemble "$1" | awk 'match($0, /# [0-9a-f]+/) { print substr($0, RSTART + 2, RLENGTH - 2) }' |
		while read -r at; do
			[ $((0x$at)) -ne $((0x$twice + (1 << 32))) ] || echo yes
		done | head -n 1
}
tap_is "the frequent target of the indirect call is compared with" yes "$(compares_twice used)"
tap_is "without branches it is not" "" "$(compares_twice bare)"

# Other forms of the file, and lies.
strip -o "$WORK/exe.stripped" "$EXE"
ask stripped . "$WORK/exe.stripped"
tap_is "a stripped program tells the same" "$(answer used .inferred)" "$(answer stripped .inferred)"
objcopy --remove-section .pseudo_probe "$EXE" "$WORK/exe.none"
ask none . "$WORK/exe.none"
tap_like "a program without probes: said so" 'has no probes' "$(answer none .error.what)"
objcopy --dump-section .pseudo_probe="$WORK/probes" "$EXE" /dev/null
for cut in 1 9 20 100; do
	{ head -c $cut "$WORK/probes"; head -c 40 /dev/zero | tr '\0' '\377'; } >"$WORK/bad"
	objcopy --update-section .pseudo_probe="$WORK/bad" "$EXE" "$WORK/exe.broken"
	ask broken . "$WORK/exe.broken"
	tap_like "probes that are none, after $cut bytes: refused" 'make no sense' "$(answer broken .error.what)"
done
for lie in '.branches = 1' '.branches.ranges = [[1, 2]]' '.branches.ranges = [[9, 2, 1]]' '.branches.edges = [["a", 2, 1]]' \
	'.branches.edges = [[1, 2, 5000000000]]' 'del(.branches.edges)'; do
	ask lie "$lie"
	tap_is "refused: $lie" error "$(answer lie .status)"
done
ask empty '.branches = {ranges: [], edges: []}'
tap_is "no branches at all: the code is right" "$(cat "$WORK/expected")" "$(run empty)"
ask wild '.branches.ranges += [[1, 4000000000, 4000000000], [0, 0, 4294967295]] | .branches.edges += [[4096, 0, 7]]'
tap_is "branches of nowhere: the code is right" "$(cat "$WORK/expected")" "$(run wild)"

# The daemon: where there are enough branches, nothing is made to count.
# What it is given while the recorder steps the program, which is far too slow for an audit, it uses later.
halo enroll "$EXE" >/dev/null
"$RECORDER" -b "$EXE" recorded $ROUNDS >/dev/null 2>&1
"$EXE" alone 1000000000 >/dev/null &
at_exit "end_process $!"
journal() {
	halo -j explain "$EXE"
}
is_guided() {
	journal | grep -q 'compiled v.*-profile.*by recorded branches'
}
if wait_for 200 is_guided; then
	tap_ok "the daemon has a variant made of branches"
else
	tap_not_ok "the daemon has a variant made of branches" "$(cat "$WORK/recorder.err")" \
		"$(journal)" "$(halo -j status | jq -c .stats)"
fi
tap_is "and did not have them counted" "" "$(journal | grep -o ': counting, ' | head -n 1)"
tap_done
