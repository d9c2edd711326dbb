#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Pinned maps: see pin_test.c.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
command -v bpftool >/dev/null || skip_all "no bpftool"
work_dir
"$BUILD_DIR/selftests/bpf/pin_test" "$BUILD_DIR/selftests/bpf/busy" "$WORK"
