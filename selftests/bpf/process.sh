#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Exec, fork and exit: see process_test.c.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
"$BUILD_DIR/selftests/bpf/process_test" "$BUILD_DIR/selftests/bpf/busy" "$WORK"
