#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Branch stacks of real CPUs through the kernel's tables, against counts that were made independently.
# HALO_LBR_DATA is the folder of the recordings; they are not part of the project.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
DATA=${HALO_LBR_DATA:-$SOURCE_DIR/../shared/data/lbr}
[ -r "$DATA/autofdo/propeller_sample_1.perfscript.gz" ] ||
	skip_all "no recordings in $DATA: set HALO_LBR_DATA"
work_dir
SKYLAKE=$DATA/autofdo/propeller_sample_1
WESTMERE=$DATA/autofdo/test

# replay TEXT ARGUMENT…: its results become ours.
replay() {
	local text=$1 line
	shift
	while read -r line; do
		case $line in
		"ok "*) tap_ok "$text: ${line#* - }" ;;
		"not ok "* | "Bail out"*) tap_not_ok "$text: $line" ;;
		"# "*) echo "$line" ;;
		esac
	done < <("$BUILD_DIR/selftests/lbr/replay_test" "$@" 2>&1)
}

replay "Skylake" "$SKYLAKE.perfscript.gz" "$SKYLAKE.bin" "$DATA/autofdo/oracle/propeller_sample_1.ref.txt" \
	5629ec742000 1000 "$WORK/all"
replay "Skylake, filtered" "$SKYLAKE.perfscript.gz" "$SKYLAKE.bin" /dev/null 5629ec742000 1000 \
	"$WORK/filtered" skylake
replay "Westmere" "$DATA/autofdo/test.lbr.perfscript.gz" "$WESTMERE.binary" \
	"$DATA/autofdo/oracle/test.lbr.ref.txt" 400000 a000 "$WORK/westmere"
tap_is "Westmere: 1134 times from 4e80 to 4e8e" 1134 \
	"$(grep -F '"range":[5,20096,20110]' "$WORK/westmere" | jq .count)"
tap_is "Skylake: 119419 branches lead to and from the program" 119419 \
	"$(grep '"edge":\[5,[0-9]*,5,' "$WORK/all" | jq .count | jq -s add)"

# Link-time addresses, where file offsets would be 0x1000 less.
export_as() {
	halo profile --from "$WORK/$1" --format "$2" -o "$WORK/$1.$2" 2>"$WORK/$1.log"
}
export_as all bolt
sed -n 's/^F \([0-9a-f]*\) \([0-9a-f]*\) \([0-9]*\)$/F \1 \2 \3/p' "$WORK/all.bolt" >"$WORK/got"
awk '$1 == "F" && $2 != "" { print }' "$DATA/autofdo/oracle/propeller_sample_1.ref.txt" |
	grep -v -e '^F 8d0 967 ' -e '^F 957 a6e ' | while read -r _ from to count; do
	printf 'F %x %x %d\n' $((0x$from + 0x1000)) $((0x$to + 0x1000)) "$count"
done >"$WORK/expected"
tap_is "Skylake: ranges go out at link-time addresses, but for the two that can't be true" \
	"$(sort "$WORK/expected")" "$(sort "$WORK/got")"
tap_like "the one from a function into another is counted" '^  115 ranges dropped: from one function' \
	"$(cat "$WORK/all.log")"
tap_like "and so is the one over a jump" '^  118 ranges dropped: over a jump' "$(cat "$WORK/all.log")"
export_as filtered bolt
tap_is "Skylake, filtered: the same ranges, and none that can't be true" "$(cat "$WORK/got")" \
	"$(grep ^F "$WORK/filtered.bolt")"
tap_is "so the newest branch told twice made all of them" "" "$(grep dropped "$WORK/filtered.log" || true)"
if command -v /usr/lib/llvm-19/bin/perf2bolt >/dev/null; then
	tap_like "perf2bolt takes all of it" 'unknown regions: 0 ' \
		"$(/usr/lib/llvm-19/bin/perf2bolt -pa -p "$WORK/all.bolt" -o "$WORK/fdata" \
			"$SKYLAKE.bin" 2>&1)"
else
	tap_skip "perf2bolt takes all of it" "it is missing: tools/install-deps.sh"
fi
tap_done
