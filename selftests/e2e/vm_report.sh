#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What counts as a failure of a run on another kernel, by what its machine printed; without a machine.
set -uo pipefail
. "$(dirname "$0")/../lib.sh"
work_dir
mkdir -p "$WORK/vm"
printf '6.1 halo_a 1000\n6.1 halo_b 1000\n' >"$WORK/vm/verifier"

# report: the last line, of a machine with $WORK/results and $WORK/console that was to run t/a and t/b
report() (
	work=$WORK/work HERE=$WORK/vm TEST_SECONDS=9 update='' out=$WORK/matrix.json
	rm -rf "$work"
	mkdir -p "$work/6.1.base"
	. "$SELFTESTS_DIR/judge.sh"
	. "$SELFTESTS_DIR/vm/report.sh"
	cp "$WORK/results" "$WORK/console" "$work/6.1.base/"
	echo 1 >"$work/6.1.base/boots"
	printf 't/a\nt/b\n' >"$work/6.1.base/tests"
	report_all 6.1 >"$WORK/report"
	echo "status $?, $(tail -n 1 "$WORK/report")"
)

good='@@ booted 6.1.0 x
@@ begin t/a
ok 1 - one
# verifier halo_a 1099
1..1
@@ end t/a 0 1500
@@ begin t/b
ok 1 - two
ok 2 - three # SKIP no moon
1..2
@@ end t/b 0 20
@@ log
[    1.0] all is well
@@ done'
: >"$WORK/console"
echo "$good" >"$WORK/results"
tap_is "all well: results, a clean log and the verifier's counts" "status 0, 4 passed, 0 failed, 1 skipped" "$(report)"
tap_is "a record per test" "t/a t/b kernel log verifier counts" "$(jq -r '[.results[].test] | join(" ")' "$WORK/matrix.json")"
tap_like "a skip is shown with its reason" 'three: no moon' "$(<"$WORK/report")"

# spoilt TEXT SED: one more fails when the results are changed so
spoilt() {
	sed "$2" <<<"$good" >"$WORK/results"
	tap_like "$1" 'status 1, [0-9]+ passed, [1-9][0-9]* failed' "$(report)"
}
spoilt "a failed result" 's/^ok 1 - two/not ok 1 - two/'
spoilt "a test that fails without a result" 's,end t/b 0,end t/b 3,'
spoilt "a machine that ends in a test" '/^@@ end t\/b/,$d'
spoilt "a machine that ends before one" '/^@@ begin t\/b/,$d'
spoilt "a machine that does not start" '/^@@/d'
spoilt "a verifier count that is more than a tenth above the one checked in" 's/halo_a 1099/halo_a 1101/'
spoilt "a program that has none checked in" 's/halo_a 1099/halo_c 10/'
while read -r line; do
	spoilt "in the log: $line" "s|all is well|$line|"
done <<-'END'
	WARNING: CPU: 0 PID: 1 at kernel/bpf/core.c:12 f+0x1/0x2
	WARNING: kernel/bpf/core.c:12 at f+0x1/0x2, CPU#0: bash/1
	WARNING: possible circular locking dependency detected
	BUG: scheduling while atomic: bash/1/0x2
	BUG: kernel NULL pointer dereference, address: 0
	rcu: INFO: rcu_preempt self-detected stall on CPU
	INFO: task bash:1 blocked for more than 60 seconds.
	watchdog: BUG: soft lockup - CPU#0 stuck for 22s!
	general protection fault, probably for non-canonical address
END
echo "$good" >"$WORK/results"
echo "[  2.0] Kernel panic - not syncing: x" >"$WORK/console"
tap_like "on the console: a panic" 'status 1,' "$(report)"
: >"$WORK/console"
echo "$good" | sed 's/^# verifier.*/# tainted 512/' >"$WORK/results"
tap_like "a kernel that is tainted by a warning" 'status 1,' "$(report)"
tap_done
