#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# From end to end without hardware that records branches: a recorder single-steps a program and hands its
# branch stacks to the daemon's tables; what `halo-bpf profile` makes of them agrees with an instrumented
# build, and LLVM's and BOLT's tools take it.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
SOURCE=$SOURCE_DIR/selftests/lbr/steps.c
BIN=/usr/lib/llvm-19/bin
for tool in "$BIN/perf2bolt" "$BIN/llvm-bolt" llvm-profgen-19 llvm-cov-19; do
	command -v "$tool" >/dev/null || skip_all "$tool is missing: tools/install-deps.sh"
done
flags=(-g -fdebug-info-for-profiling -fuse-ld=lld -Wl,--build-id=sha1 -Wl,--emit-relocs -DRECORDED)
clang-19 -O0 "${flags[@]}" -o "$WORK/steps" "$SOURCE"
clang-19 -O2 "${flags[@]}" -o "$WORK/steps-O2" "$SOURCE"
with_daemon HALO_BRANCH_FEED=1

# record NAME: into $WORK/NAME.rec
record() {
	"$HALO_BPF" profile "$WORK/$1" --seconds 120 --format recording -o "$WORK/$1.rec" 2>"$WORK/$1.err" &
	local pid=$!
	wait_for 20 sh -c "'$HALO_BPF' -j list | grep -q '/$1\"'"
	"$BUILD_DIR/selftests/lbr/recorder" -b "$WORK/$1" >"$WORK/$1.out" 2>"$WORK/$1.count"
	halo -j map edges >"$WORK/$1.map" || true
	kill -INT "$pid"
	wait "$pid"
}
export_as() {
	halo profile --from "$WORK/$1.rec" --format "$2" -o "$WORK/$1.$2" 2>"$WORK/$1.log"
}

record steps
record steps-O2
tap_like "the recorder hands over stacks" '^branches [1-9][0-9]+ stacks [1-9][0-9]+$' \
	"$(cat "$WORK/steps.count")"
seen=$(awk '{ print $2 }' "$WORK/steps.count") fed=$(awk '{ print $4 * 32 }' "$WORK/steps.count")
figures=$(head -1 "$WORK/steps.rec" | jq -c .stats)
tap_is "every branch that was handed over was seen in the kernel" "$fed" "$(jq .branches <<<"$figures")"
tap_is "and none was lost" 0 "$(jq '.edge_full + .edge_busy + .range_full + .range_busy' <<<"$figures")"

# Each range is handed over once, so counts of lines are exact.
export_as steps llvm
clang-19 -O0 -fprofile-instr-generate -fcoverage-mapping -o "$WORK/instr" "$SOURCE"
LLVM_PROFILE_FILE=$WORK/instr.raw "$WORK/instr" >"$WORK/instr.out"
llvm-profdata-19 merge -o "$WORK/instr.prof" "$WORK/instr.raw"
llvm-cov-19 export --format=lcov --instr-profile="$WORK/instr.prof" "$WORK/instr" 2>/dev/null |
	sed -n 's/^DA:\([0-9]*\),\([0-9]*\)$/\1 \2/p' >"$WORK/instr.lines"
tap_is "the program's output is the same under the recorder" "$(cat "$WORK/instr.out")" \
	"$(cat "$WORK/steps.out")"
# lines FUNCTION: "line count" of each line of its body in the sample profile.
lines() {
	local first
	first=$(grep -n "$1(unsigned" "$SOURCE" | cut -d: -f1)
	awk -v f="$1" -v first="$first" '/^[^ ]/ { on = index($0, f ":") == 1; next }
		on && /^ [0-9]/ { split($1, at, /[.:]/); n = $2; l = first + at[1]
			if (n > most[l]) most[l] = n }
		END { for (l in most) print l, most[l] }' "$WORK/steps.llvm" | sort -n
}
for f in steps look; do
	bad=
	n=0
	while read -r line count; do
		expected=$(awk -v l="$line" '$1 == l { print $2 }' "$WORK/instr.lines")
		# A closing line counts the returns; regions of the instrumented build count otherwise.
		[ -n "$expected" ] && [ "$expected" -gt 0 ] || continue
		grep -q '}' <<<"$(sed -n "${line}p" "$SOURCE")" && continue
		n=$((n + 1))
		[ "$count" = "$expected" ] || bad+="line $line: $count, instrumented $expected; "
	done < <(lines $f)
	if [ "$n" -ge 3 ] && [ -z "$bad" ]; then
		tap_ok "counts of $n lines of $f() are those of an instrumented build"
	else
		tap_not_ok "counts of lines of $f() are those of an instrumented build" "$n lines; $bad" \
			"$(cat "$WORK/steps.llvm")" "$(cat "$WORK/instr.lines")"
	fi
done

# LLVM: its own generator from the same branches, and the compiler that uses ours.
export_as steps unsymbolized
llvm-profgen-19 --unsymbolized-profile="$WORK/steps.unsymbolized" --binary="$WORK/steps" --format=text \
	--output="$WORK/profgen" >/dev/null 2>&1 || true
body() { grep -A3 '^steps:' "$1" | sed 1d; }
tap_like "llvm-profgen takes our branches" '^ 1: [1-9]' "$(body "$WORK/profgen")"
tap_is "llvm-profgen makes the same counts of our branches" "$(body "$WORK/profgen")" \
	"$(body "$WORK/steps.llvm")"
export_as steps-O2 llvm
clang-19 -O2 -g -fdebug-info-for-profiling -fprofile-sample-use="$WORK/steps-O2.llvm" -S -emit-llvm \
	-o "$WORK/use.ll" "$SOURCE" 2>"$WORK/use.err"
tap_like "clang uses the profile" 'define.* @steps\(.*!prof' "$(grep 'define.*@steps' "$WORK/use.ll")"
tap_like "and has weights for branches from it" '"branch_weights", i32 [0-9]+, i32 [0-9]{2,}|i32 [0-9]{2,}, i32' \
	"$(grep branch_weights "$WORK/use.ll")"

# BOLT
export_as steps-O2 bolt
output=$("$BIN/perf2bolt" -pa -p "$WORK/steps-O2.bolt" -o "$WORK/fdata" "$WORK/steps-O2" 2>&1) || true
# Those that it can't place are in code without functions, as the PLT.
tap_like "perf2bolt finds next to no range that contradicts the code" \
	'traces mismatching disassembled function contents: [0-9]+ \(0\.[0-9]%\)' "$output"
tap_like "nor one outside of it" 'unknown regions: 0 ' "$output"
tap_run "llvm-bolt lays the program out anew" "$BIN/llvm-bolt" "$WORK/steps-O2" -o "$WORK/bolted" \
	-data "$WORK/fdata" -reorder-blocks=ext-tsp
clang-19 -O2 -g -fuse-ld=lld -Wl,--build-id=sha1 -Wl,--emit-relocs -o "$WORK/plain" "$SOURCE"
tap_is "the functions that ran most are in BOLT's profile" "look main steps" \
	"$(awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^(look|main|steps)$/) print $i }' "$WORK/fdata" |
		sort -u | xargs)"
tap_done
