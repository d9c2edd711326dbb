#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The programs that stand in on kernels before 5.15, on this one: see cost.bpf.h and task.bpf.h.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
export HALO_TEST_OLD=1
status=0
for name in process sample cost; do
	"$BUILD_DIR/selftests/bpf/${name}_test" "$BUILD_DIR/selftests/bpf/busy" "$WORK" || status=1
done
exit $status
