#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# How long one thread of a program is stopped to be attached while it runs: a quiet machine, and
# beside as many busy processes as there are CPUs. Writes build/bench-attach.json.
#
#   attach.sh [-n TIMES]
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../lib.sh"
. "$HERE/lib.sh"

FIGURES=$BUILD_DIR/bench-attach.json
TARGET=$BUILD_DIR/selftests/e2e/attach/target
TIMES=300
while getopts n: opt; do
	case $opt in
	n) TIMES=$OPTARG ;;
	*) exit 2 ;;
	esac
done

rm -f "$FIGURES"
echo "how long a thread is stopped to be attached, microseconds"
printf '%-10s %5s %6s %8s %10s %8s %8s\n' program hogs n refused median p99 max
for hogs in 0 "$(nproc)"; do
	for mode in busy epoll threads; do
		"$BUILD_DIR/bench-attach" "$TARGET" "$mode" "$TIMES" "$hogs" "$FIGURES"
	done
done
