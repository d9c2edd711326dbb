#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The work that benchmarks measure: all functions of each program are switched, and it prints the same.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$SELFTESTS_DIR/e2e/torture/lib.sh"
. "$SELFTESTS_DIR/apps/suites.sh"
need_root
work_dir
need_built "$HALO_BPF" "$BUILD_DIR/halo-opt" "$HALO_CC" "$HALO_CXX"

APP=$SELFTESTS_DIR/apps/app.sh
PLAIN_DIR=$BUILD_DIR/apps/plain

app() {
	local name=$1 exe=$WORK/apps/$1
	if ! "$APP" fetch "$name" >"$WORK/fetch.log" 2>&1; then
		tap_skip "$name" "its source can't be fetched: $(tail -1 "$WORK/fetch.log")"
		return
	fi
	tap_run "$name builds" "$APP" build "$name" "$HALO_CC" "$HALO_CXX" -O2 "$WORK/apps"
	[ -x "$PLAIN_DIR/$name" ] ||
		tap_run "$name builds with clang" "$APP" build "$name" clang-19 clang++-19 -O2 "$PLAIN_DIR"
	"$APP" run "$name" "$PLAIN_DIR/$name" >"$WORK/expected" 2>/dev/null
	torture "$WORK/actual" --hold --seed "${HALO_SEED:-1}" --program "$exe" "$APP" run "$name" "$exe"
	switched "$name" "$WORK/expected" "$WORK/actual"
	suite_summary
}

for name in $("$APP" list); do
	app "$name"
done

tap_done
