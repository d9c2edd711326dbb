#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Real programs pass their own test suites under torture, those that take minutes, and print what they print without.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$SELFTESTS_DIR/e2e/torture/lib.sh"
. "$SELFTESTS_DIR/apps/suites.sh"
need_root
work_dir
need_built "$HALO_BPF" "$BUILD_DIR/halo-opt" "$HALO_CC" "$HALO_CXX"

suite jq shell
suite lz4 commands
suite redis
suite zstd
suite yaml-cpp

tap_done
