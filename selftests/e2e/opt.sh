#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# halo-opt by hand: images of functions that a variant can get wrong, and what they compute.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

HALO_OPT=$BUILD_DIR/halo-opt
SOURCES=$SELFTESTS_DIR/e2e/opt
ROOM=65536

need_built "$HALO_CC" "$HALO_OPT"
work_dir

CASES=$(sed -n '/define CASES/,/^$/s/.*X(\([a-z_]*\)).*/\1/p' "$SOURCES/cases.h" | grep -v '^X$')
REFUSED=$(sed -n '/define REFUSED/,/^$/s/.*X(\([a-z_]*\)).*/\1/p' "$SOURCES/cases.h")

# build NAME FLAG…
build() {
	local out=$WORK/$1
	shift
	"$HALO_CC" "$@" -D_GNU_SOURCE -Wno-psabi "$SOURCES"/cases.c "$SOURCES"/other.c "$SOURCES"/main.c -lm -o "$out"
}

# address EXE CASE: where the case's function is
address() {
	local at name=$2
	[ "$name" != local_root ] || name=local_root_body
	at=$(nm "$1" | awk -v name="$name" '$3 == name { print $1 }')
	echo $((0x$at))
}

arena() {
	if readelf -h "$1" | grep -q 'Type: *DYN'; then
		echo $((-(1 << 30)))
	else
		echo $((1 << 30))
	fi
}

# request EXE FUNCTION PLACE CONFIG FP
request() {
	local config
	config=$(jq -c --arg name "$4" '.[] | select(.name == $name)' "$SOURCE_DIR/knobs/configs.json")
	jq -nc --argjson at "$(address "$1" "$2")" --argjson place "$3" --argjson config "$config" \
		--arg fp "$5" --argjson room $ROOM \
		'{job: "optimize", samples: [[$at, 100]], config: $config, fp: $fp, place: $place, room: $room}'
}

# optimize EXE FOLDER: request on standard input, answer on standard output
optimize() {
	mkdir -p "$2"
	"$HALO_OPT" 3<"$1" 4<"$2" 2>>"$WORK/log"
}

# job_of FUNCTION: one that calls itself is nothing that halo-opt chooses on its own.
job_of() {
	if [ "$1" = recursion ]; then
		jq -c '.job = "root" | .root = {function: "recursion", unit: 0}'
	else
		cat
	fi
}

# optimize_case EXE FUNCTION PLACE CONFIG FP: the answer is in FOLDER/answer
FOLDER=
optimize_case() {
	FOLDER=$WORK/jobs/$(basename "$1")-$2-$4-$5
	mkdir -p "$FOLDER"
	request "$@" | job_of "$2" | optimize "$1" "$FOLDER" >"$FOLDER/answer" || echo '{"status": "crash"}' >"$FOLDER/answer"
}

answer() {
	jq -r "$1" "$FOLDER/answer"
}

# One segment, read-execute, at its place; nothing for a dynamic linker to do.
image_is_sound() {
	local place=$1 headers
	headers=$(readelf -lW "$FOLDER/image.elf")
	[ "$(grep -c LOAD <<<"$headers")" = 1 ] || return 1
	[[ $(grep LOAD <<<"$headers") =~ 0x000000\ 0x([0-9a-f]*)\ .*\ R\ E\  ]] || return 1
	[ $((0x${BASH_REMATCH[1]})) = $((place + (1 << 32))) ] || return 1
	! readelf -rW "$FOLDER/image.elf" | grep -q R_X86_64 || return 1
	! grep -Eq 'DYNAMIC|INTERP' <<<"$headers"
}

# compare EXE CONFIG FP CASE…: all cases switched in one process
compare() {
	local exe=$1 config=$2 fp=$3 place name list=$WORK/list
	shift 3
	place=$(arena "$exe")
	: >"$list"
	for name in "$@"; do
		optimize_case "$exe" "$name" "$place" "$config" "$fp"
		if [ "$(answer .status)" != ok ]; then
			tap_not_ok "$(basename "$exe"), $config: $name has an image" "$(cat "$FOLDER/answer")"
			continue
		fi
		image_is_sound "$place" || tap_not_ok "$name: the image is sound" "$(readelf -lW "$FOLDER/image.elf")"
		echo "$(answer .root.slot) $(answer .entry) $place $FOLDER/image.elf" >>"$list"
		place=$((place + ROOM))
	done
	tap_is "$(basename "$exe"), $config: all images are there" "$#" "$(wc -l <"$list")"
	"$exe" >"$WORK/plain"
	"$exe" "$list" >"$WORK/switched" || echo "exit status $?" >>"$WORK/switched"
	tap_is "$(basename "$exe"), $config: $# functions switched, same results" \
		"$(cat "$WORK/plain")" "$(cat "$WORK/switched")"
}

fused() {
	objdump -d "$FOLDER/image.elf" | grep -c 'vfn*m[as][du]' || true
}

build pie -O2
build fixed -O2 -no-pie -fno-pie
build unoptimized -O0

# The reference is a build without halo-cc.
clang-19 -O2 -D_GNU_SOURCE -Wno-psabi "$SOURCES"/{cases,other,main}.c -lm -o "$WORK/reference"
"$WORK/reference" >"$WORK/expected"
tap_is "a prepared program computes what a plain one does" "$(cat "$WORK/expected")" "$("$WORK/pie")"

# shellcheck disable=SC2086
compare "$WORK/pie" host exact $CASES
compare "$WORK/pie" tune exact noise multiply_add state sorting
# shellcheck disable=SC2086
compare "$WORK/fixed" host exact $CASES
compare "$WORK/unoptimized" host exact noise state thread_locals pointer_identity sorting imported_data

for name in $REFUSED; do
	optimize_case "$WORK/pie" "$name" "$(arena "$WORK/pie")" host exact
	tap_is "$name: refused" none "$(answer .status)"
	tap_like "$name: with a reason" 'fast-math|reorder|weak reference' \
		"$(answer '[.considered[] | select(.verdict == "not eligible") | .reason] | join("; ")')"
done

place=$(arena "$WORK/pie")
if grep -qw fma /proc/cpuinfo; then
	optimize_case "$WORK/pie" multiply_add "$place" host exact
	tap_is "exact: no fused multiply-add" 0 "$(fused)"
	optimize_case "$WORK/pie" multiply_add "$place" host contract
	tap_like "contract: fused multiply-adds" '^[1-9]' "$(fused)"
	optimize_case "$WORK/pie" multiply_add "$place" tune contract
	tap_is "contract, the shipped instructions: none" 0 "$(fused)"
else
	tap_skip "fused multiply-adds" "this CPU has none"
fi
optimize_case "$WORK/pie" fast_math "$place" host reassoc
tap_is "reassoc: fast-math code has an image" ok "$(answer .status)"

optimize_case "$WORK/pie" strings "$place" host exact
first=$(answer .hash)
sum=$(sha256sum <"$FOLDER/object.o" | cut -d' ' -f1)
optimize_case "$WORK/pie" strings "$place" host exact
tap_is "the same job gives the same hash" "$first" "$(answer .hash)"
tap_is "which is the object's" "$sum" "$first"

# Versions are compared by cost per entry, and a call to itself is an entry in shipped code alone.
# climbs FUNCTION ROOT
climbs() {
	FOLDER=$WORK/jobs/recursive-$1
	mkdir -p "$FOLDER"
	request "$WORK/recursive" "$1" "$place" host exact | optimize "$WORK/recursive" "$FOLDER" >"$FOLDER/answer"
	tap_is "$1 calls itself: the root is $2" "$2" "$(answer .root.function)"
	tap_is "$1: the image holds it" "$1" "$(answer ".functions[] | select(.function == \"$1\") | .function")"
	tap_like "$1: said why" 'recursive: entries' \
		"$(answer ".considered[] | select(.function == \"$1\") | .reason")"
}
"$HALO_CC" -O2 "$SOURCES/recursive.c" -o "$WORK/recursive"
climbs fib many_fibs
climbs is_even many_parities
climbs quick_sort many_sorts
FOLDER=$WORK/jobs/depth
mkdir -p "$FOLDER"
request "$WORK/recursive" depth "$place" host exact | optimize "$WORK/recursive" "$FOLDER" >"$FOLDER/answer"
tap_is "depth calls itself, and only main calls it: none" none "$(answer .status)"
tap_like "depth: said why" 'recursive: entries' "$(answer '.considered[] | select(.function == "depth") | .reason')"
request "$WORK/recursive" depth "$place" host exact |
	jq -c '.job = "root" | .root = {function: "depth", unit: 0}' |
	optimize "$WORK/recursive" "$FOLDER" >"$FOLDER/answer"
tap_is "depth, asked for: it has an image" depth "$(answer .root.function)"

# What was inlined has no samples of its own.
"$HALO_CC" -O2 "$SOURCES/inlined.c" -o "$WORK/inlined"
FOLDER=$WORK/jobs/inlined
mkdir -p "$FOLDER"
request "$WORK/inlined" outer "$place" host exact | optimize "$WORK/inlined" "$FOLDER" >"$FOLDER/answer"
tap_is "a large function that was inlined belongs to its caller, one that was not does not" 2 \
	"$(answer .features.functions)"

# Wrong requests.
ask() {
	FOLDER=$WORK/jobs/ask
	mkdir -p "$FOLDER"
	request "$WORK/pie" noise "$place" host exact | jq -c "$1" |
		optimize "$WORK/pie" "$FOLDER" >"$FOLDER/answer" || true
}
ask '.config.unrolling = "4"'
tap_like "an unknown knob: the right ones are listed" 'name, doc, cpu, tune, opt' "$(answer .error.remedy)"
ask '.config.cpu = "z80"'
tap_like "an unknown value: the right ones are listed" 'shipped, host' "$(answer .error.remedy)"
ask '.place = 17'
tap_is "a place off its page: an error" error "$(answer .status)"
ask '.room = 64'
tap_like "no room: said so" 'are left in the arena' "$(answer .reason)"
ask '.skip = [{function: "noise", unit: 0, reason: "tried: no gain"}]'
tap_is "a root to skip: none" none "$(answer .status)"
tap_like "a root to skip: with its reason" 'tried: no gain' "$(answer '.considered[0].reason')"
ask '.job = "root" | .samples = [] | .root = {function: "state", unit: 0}'
tap_is "a root by name" state "$(answer .root.function)"
ask '.samples[0][0] = 1'
tap_is "samples outside of the program: none" none "$(answer .status)"
FOLDER=$WORK/jobs/ask
echo '{"job": 1}' | optimize "$WORK/pie" "$FOLDER" >"$FOLDER/answer"
tap_is "not a request: an error" EINVAL "$(answer .error.code)"

status=0
request "$WORK/pie" noise "$place" host exact |
	HALO_FAILPOINT=opt-crash optimize "$WORK/pie" "$FOLDER" >"$FOLDER/answer" || status=$?
tap_is "the failpoint opt-crash ends the worker" 134 "$status"

tap_done
