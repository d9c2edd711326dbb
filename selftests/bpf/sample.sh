#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What is sampled: see sample_test.c.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
"$BUILD_DIR/selftests/bpf/sample_test" "$BUILD_DIR/selftests/bpf/busy" "$WORK"
