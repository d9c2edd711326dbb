#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Exact on-CPU time: see cost_test.c.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
"$BUILD_DIR/selftests/bpf/cost_test" "$BUILD_DIR/selftests/bpf/busy" "$WORK"
