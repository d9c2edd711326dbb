# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced, behind selftests/lib.sh, by the tests that attach target.c with driver.c.

need_root
work_dir
dir=$BUILD_DIR/selftests/e2e/attach
driver=$dir/driver
need_built "$driver" "$dir/target" "$dir/target-nopie" "$dir/target-static" "$dir/target-static-pie"
unset HALO_DISABLE HALO_SOCKET

# begin EXECUTABLE MODE: in the background as $target, until it is about to do what it is for.
begin() {
	: >"$WORK/target"
	"$1" "$2" <"$WORK/input" >"$WORK/target" 2>&1 &
	target=$!
	wait_for 20 grep -q ready "$WORK/target"
}

# noticed_nothing TEXT: the target ends by itself, content. Not in a subshell: it is our child.
noticed_nothing() {
	local status=0
	wait "$target" || status=$?
	tap_is "$1: it noticed nothing" 0 "$status"
	[ "$status" -eq 0 ] || sed 's/^/# /' "$WORK/target"
}

# asleep PID NUMBER: in that system call?
asleep() {
	[ "$(cut -d' ' -f1 "/proc/$1/syscall")" = "$2" ]
}

inject() {
	timeout 60 "$driver" inject "$1" "$target" 2>&1
}

mkfifo "$WORK/input"
exec 9<>"$WORK/input"
