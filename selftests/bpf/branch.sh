#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Branch stacks in the tables: see branch_test.c.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
"$BUILD_DIR/selftests/bpf/branch_test"
