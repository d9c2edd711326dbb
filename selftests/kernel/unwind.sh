#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The unwinder against the true call stack at every instruction, of one program and this kernel's vdso
# and signal frames: see ../unwind/step.c. All compilers and levels are unwind/step's.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
step=$BUILD_DIR/selftests/unwind/step
cases=$BUILD_DIR/selftests/kernel/cases
need_built "$step" "$cases"
text="the context is exact at every instruction"
if output=$("$step" "$cases" 2>&1); then
	tap_ok "$text"
else
	tap_not_ok "$text"
fi
sed 's/^\([^#]\)/# \1/' <<<"$output"
tap_done
