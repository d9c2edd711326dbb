#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The programs of selftests/programs/ print what they are known to print, however they are built.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

for expected in "$SELFTESTS_DIR"/programs/expected/*; do
	name=$(basename "$expected")
	rounds=$(awk '$1 == "rounds" { print $2 }' "$expected")
	for way in plain native halo; do
		program=$PROGRAMS_DIR/$way/$name
		need_built "$program"
		tap_is "$name, $way" "$(cat "$expected")" \
			"$("$program" --rounds "$rounds" 2>&1 || echo "exit status $?")"
	done
done
tap_done
