#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Real programs pass test suites under torture, and print what they print without: the quick ones.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$SELFTESTS_DIR/e2e/torture/lib.sh"
. "$SELFTESTS_DIR/apps/suites.sh"
need_root
work_dir
need_built "$HALO_BPF" "$BUILD_DIR/halo-opt" "$HALO_CC" "$HALO_CXX"

suite jq filters
suite lz4 fuzzer frames
suite vorbis
suite nginx

tap_done
