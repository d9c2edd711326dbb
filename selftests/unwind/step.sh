#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The unwinder against the true call stack at every instruction: see step.c. HALO_LONG=1: at all levels
# of optimization.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
step=$BUILD_DIR/selftests/unwind/step
need_built "$step"
work_dir

levels="0 2"
[ -z "${HALO_LONG:-}" ] || levels="0 1 2 3 s"
for cc in gcc clang-19; do
	for level in $levels; do
		program=$WORK/$cc-O$level
		"$cc" -g -O"$level" -fomit-frame-pointer -Wl,-z,lazy -o "$program" \
			"$SELFTESTS_DIR/unwind/cases.c"
		text="$cc -O$level: the context is exact at every instruction"
		if output=$("$step" "$program" 2>&1); then
			tap_ok "$text"
		else
			tap_not_ok "$text"
		fi
		sed "s,$WORK/,,g; s/^\([^#]\)/# \1/" <<<"$output"
	done
done

tap_done
