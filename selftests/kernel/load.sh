#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each BPF program by itself: see load_test.c.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
exec "$BUILD_DIR/selftests/kernel/load_test"
