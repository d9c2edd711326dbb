#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The test runner counts what it must: crashes, hangs, plans that are missing or wrong.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir

# runs TEXT EXPECTED-LAST-LINE EXPECTED-STATUS BODY: a folder with one test of that body
runs() {
	local dir status=0 output
	dir=$(mktemp -d "$WORK/XXXXXX")
	printf '#!/bin/bash\n%s\n' "$4" >"$dir/case.sh"
	chmod +x "$dir/case.sh"
	output=$(HALO_TEST_TIMEOUT=2 "$SELFTESTS_DIR/run.sh" -d "$dir" 2>&1) || status=$?
	tap_is "$1" "$2, status $3" "$(tail -n 1 <<<"$output"), status $status"
}

runs "passes" "2 passed, 0 failed, 0 skipped" 0 'echo "ok 1 - a"; echo "ok 2 - b"; echo 1..2'
runs "a failed result" "1 passed, 1 failed, 0 skipped" 1 \
	'echo "ok 1 - a"; echo "not ok 2 - b"; echo 1..2; exit 1'
runs "a failed result with exit status 0" "0 passed, 1 failed, 0 skipped" 1 \
	'echo "not ok 1 - a"; echo 1..1'
runs "a skip" "1 passed, 0 failed, 1 skipped" 0 \
	'echo "ok 1 - a"; echo "ok 2 - b # SKIP no such thing"; echo 1..2'
runs "a skip as cmocka writes it" "0 passed, 0 failed, 1 skipped" 0 \
	'echo 1..1; echo "not ok 1 # SKIP b"'
runs "a crash" "1 passed, 1 failed, 0 skipped" 1 'echo 1..1; echo "ok 1 - a"; kill -SEGV $$'
runs "a hang" "1 passed, 1 failed, 0 skipped" 1 'echo 1..1; echo "ok 1 - a"; sleep 60'
runs "no plan" "1 passed, 1 failed, 0 skipped" 1 'echo "ok 1 - a"'
runs "no output" "0 passed, 1 failed, 0 skipped" 1 ':'
runs "fewer results than planned" "1 passed, 1 failed, 0 skipped" 1 'echo 1..2; echo "ok 1 - a"'
runs "more results than planned" "2 passed, 1 failed, 0 skipped" 1 \
	'echo 1..1; echo "ok 1 - a"; echo "ok 2 - b"'
runs "two plans, as of two groups" "2 passed, 0 failed, 0 skipped" 0 \
	'echo 1..1; echo "ok 1 - a"; echo 1..1; echo "ok 1 - b"'
runs "exit status without a failed result" "1 passed, 1 failed, 0 skipped" 1 \
	'echo "ok 1 - a"; echo 1..1; exit 3'
runs "bail out" "0 passed, 1 failed, 0 skipped" 1 'echo "Bail out! no power"'

mkdir "$WORK/empty"
status=0
output=$("$SELFTESTS_DIR/run.sh" -d "$WORK/empty" 2>&1) || status=$?
tap_is "nothing to run" "0 passed, 0 failed, 0 skipped, status 1" \
	"$(tail -n 1 <<<"$output"), status $status"

status=0
output=$("$SELFTESTS_DIR/run.sh" -d "$WORK/empty" nonesuch 2>&1) || status=$?
tap_like "a name that no test has" "no test is called 'nonesuch'" "$output"

mkdir "$WORK/two"
printf '#!/bin/bash\necho "ok 1"; echo 1..1\n' | tee "$WORK/two/a.sh" >"$WORK/two/b.sh"
chmod +x "$WORK"/two/*.sh
tap_is "one by name" "1 passed, 0 failed, 0 skipped" \
	"$("$SELFTESTS_DIR/run.sh" -d "$WORK/two" b | tail -n 1)"
printf '#!/bin/bash\necho "# the reason"; echo "not ok 1 - b"; echo 1..1\n' >"$WORK/two/b.sh"
tap_like "a failing file's output is shown" "# the reason" \
	"$("$SELFTESTS_DIR/run.sh" -d "$WORK/two" || true)"
printf '#!/bin/bash\necho "ok 1 - b # SKIP no moon"; echo 1..1\n' >"$WORK/two/b.sh"
tap_like "a skip's reason is shown" "two/b: b: no moon" "$("$SELFTESTS_DIR/run.sh" -d "$WORK/two")"
tap_done
