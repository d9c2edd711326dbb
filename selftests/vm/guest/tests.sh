#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# tests.sh NAME…: run these tests one after the other, and print all that they print, each between
# "@@ begin NAME" and "@@ end NAME STATUS MILLISECONDS".
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SELFTESTS=$(realpath "$HERE/../..")

milliseconds() {
	local now
	read -r now _ </proc/uptime
	echo $((10#${now/./} * 10))
}

for name in "$@"; do
	echo "@@ begin $name"
	begin=$(milliseconds) status=0
	timeout --kill-after=10 "${HALO_TEST_TIMEOUT:-120}" "$SELFTESTS/$name.sh" </dev/null 2>&1 || status=$?
	echo # whatever was left of a line
	echo "# tainted $(</proc/sys/kernel/tainted)"
	echo "@@ end $name $status $(($(milliseconds) - begin))"
done
