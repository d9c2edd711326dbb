#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the tests: one line per file, a failing file's whole output, and at the end, on the last
# line, "N passed, N failed, N skipped". Exit status 1 when anything failed, or nothing ran.
#
#   run.sh                   all of them, but those in long/
#   run.sh -l [NAME…]        those in long/, each of which may take many minutes
#   run.sh NAME…             those of that name: errors, e2e/errors, selftests/e2e/errors.sh
#   run.sh -d DIR [NAME…]    the executables in DIR instead
#
# A file is a program that prints TAP. One that has no plan, prints another number of results than
# planned, is killed, or ends in failure without a failed result, counts as one failure more.
set -uo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BUILD_DIR=$(realpath -m "${BUILD:-$HERE/../build}")
TIMEOUT=${HALO_TEST_TIMEOUT:-300} # seconds per file
. "$HERE/judge.sh"

usage() {
	sed -n '3,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

dir= long=
while getopts d:lh opt; do
	case $opt in
	d) dir=$OPTARG ;;
	l) long=1 TIMEOUT=${HALO_TEST_TIMEOUT:-7200} ;;
	h) usage && exit 0 ;;
	*) usage >&2 && exit 2 ;;
	esac
done
shift $((OPTIND - 1))

if [ "$(id -u)" -ne 0 ]; then
	echo "Error: the tests need root" >&2
	echo "  cause: they load BPF programs and attach to other processes" >&2
	echo "  remedy: sudo make check" >&2
	exit 2
fi

# mount_once TYPE DIR
mount_once() {
	mountpoint -q "$2" && return
	mkdir -p "$2" 2>/dev/null
	mount -t "$1" "$1" "$2" 2>/dev/null || echo "# cannot mount $1 at $2" >&2
}

# Which files there are, in the order in which they run.
list_files() {
	local file
	if [ -n "$dir" ]; then
		for file in "$dir"/*; do
			[ -f "$file" ] && [ -x "$file" ] && echo "$file"
		done
		return
	fi
	if [ -n "$long" ]; then
		ls "$HERE"/long/*.sh
		return
	fi
	for file in "$BUILD_DIR"/selftests/unit/* "$BUILD_DIR"/selftests/unit-opt/*; do
		[ -f "$file" ] && [ -x "$file" ] && echo "$file"
	done
	for file in "$HERE"/bpf/*.sh "$HERE"/kernel/*.sh "$HERE"/unwind/*.sh "$HERE"/build/*.sh "$HERE"/lbr/*.sh "$HERE"/e2e/*.sh; do
		[ -f "$file" ] && echo "$file"
	done
}

# Its folder and its name: "e2e/errors" for selftests/e2e/errors.sh
short_name() {
	local name
	name=$(basename "$(dirname "$1")")/$(basename "$1")
	echo "${name%.sh}"
}

# wanted NAME SHORT: does what the user typed mean this file?
wanted() {
	local name=${1%.sh}
	name=${name#./}
	name=${name#selftests/}
	[ "$name" = "$2" ] || [ "$name" = "${2##*/}" ]
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0 ran=0
touch "$work/skips"

run_file() {
	local file=$1 name=$2 status=0 begin=$EPOCHREALTIME ok not_ok skip why
	CMOCKA_MESSAGE_OUTPUT=TAP BUILD=$BUILD_DIR timeout --kill-after=10 "$TIMEOUT" \
		"$file" >"$work/out" 2>"$work/err" </dev/null || status=$?
	judge "$work/out" "$name" "$status" "$TIMEOUT" "$work/skips"
	printf '%-28s %4d passed %3d failed %3d skipped %7.1f s%s\n' "$name" "$ok" "$not_ok" "$skip" \
		"$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')" "${why:+  ($why)}"
	if [ "$not_ok" -gt 0 ]; then
		sed 's/^/    /' "$work/out" "$work/err"
	fi
	passed=$((passed + ok)) failed=$((failed + not_ok)) skipped=$((skipped + skip))
	ran=$((ran + 1))
}

# Does any of the names typed mean this file? All do when none was typed.
chosen() {
	local short=$1 name
	shift
	[ $# -eq 0 ] && return 0
	for name in "$@"; do
		wanted "$name" "$short" && return 0
	done
	return 1
}

if [ -z "$dir" ]; then
	mount_once bpf /sys/fs/bpf
	mount_once tracefs /sys/kernel/tracing
fi
export LC_ALL=C
mapfile -t files < <(list_files)
for file in "${files[@]}"; do
	name=$(short_name "$file")
	chosen "$name" "$@" && run_file "$file" "$name"
done

for name in "$@"; do
	for file in "${files[@]}"; do
		wanted "$name" "$(short_name "$file")" && continue 2
	done
	echo "Error: no test is called '$name'" >&2
	failed=$((failed + 1))
done
if [ "$ran" -eq 0 ]; then
	echo "Error: nothing ran" >&2
	echo "  remedy: make all tests" >&2
fi
if [ -s "$work/skips" ]; then
	echo "Skipped:"
	sed 's/^/  /' "$work/skips"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$ran" -gt 0 ]
