#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# CPUs that go offline and come back: see hotplug_test.c.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
CPU=/sys/devices/system/cpu/cpu1/online
[ -w "$CPU" ] || skip_all "there is no second CPU, or it can't be taken offline"
[ "$(<"$CPU")" = 1 ] || skip_all "the second CPU is offline"
work_dir
at_exit 'echo 1 >"$CPU" 2>/dev/null'
"$BUILD_DIR/selftests/bpf/hotplug_test" "$BUILD_DIR/selftests/bpf/busy" "$WORK"
