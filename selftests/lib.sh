# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by the test scripts: results in TAP, a folder to work in, a daemon to test with.
#
#	. "$(dirname "$0")/../lib.sh"
#	need_root
#	with_daemon
#	tap_is "what is true" "$expected" "$actual"
#	tap_done

SELFTESTS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SOURCE_DIR=$(dirname "$SELFTESTS_DIR")
BUILD_DIR=$(realpath -m "${BUILD:-$SOURCE_DIR/build}")
HALO_BPF=$BUILD_DIR/halo-bpf
HALO_CC=$BUILD_DIR/halo-cc
HALO_CXX=$BUILD_DIR/halo-c++
PROGRAMS_DIR=$BUILD_DIR/programs
export LC_ALL=C

tap_count=0
tap_failed=0

tap_ok() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1"
}

# tap_not_ok TEXT [LINE…]: the lines say what was seen.
tap_not_ok() {
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $1"
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/# /'
}

# tap_is TEXT EXPECTED ACTUAL
tap_is() {
	if [ "$2" = "$3" ]; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "expected: $2" "actual:   $3"
	fi
}

# tap_like TEXT REGEX ACTUAL: an extended regular expression, anywhere.
tap_like() {
	if grep -Eq -e "$2" <<<"$3"; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "expected to match: $2" "actual: $3"
	fi
}

# tap_run TEXT COMMAND…: ok when the command succeeds.
tap_run() {
	local text=$1 output
	shift
	if output=$("$@" 2>&1); then
		tap_ok "$text"
	else
		tap_not_ok "$text" "failed: $*" "$output"
	fi
}

# tap_skip TEXT REASON
tap_skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# skip_all REASON: the whole file is one skipped result.
skip_all() {
	tap_skip "$(basename "$0" .sh)" "$1"
	tap_done
}

# The plan, and the end of the script.
tap_done() {
	echo "1..$tap_count"
	[ "$tap_failed" -eq 0 ] || exit 1
	exit 0
}

need_root() {
	[ "$(id -u)" -eq 0 ] || skip_all "needs root"
}

# need_built FILE…: fails the script, since everything is built before the tests run.
need_built() {
	local file
	for file in "$@"; do
		[ -e "$file" ] && continue
		tap_not_ok "$(basename "$file") is built" "missing: $file"
		tap_done
	done
}

# wait_for SECONDS COMMAND…: until the command succeeds; its failure is the deadline's.
wait_for() {
	local deadline=$((SECONDS + $1 + 1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
		sleep 0.1
	done
}

# Commands to run at the end, the last one first.
at_exit_commands=()
at_exit() {
	at_exit_commands=("$1" "${at_exit_commands[@]}")
}

run_at_exit() {
	local command
	set +e
	for command in "${at_exit_commands[@]}"; do
		eval "$command"
	done
}
trap run_at_exit EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

# A folder of the script's own: $WORK.
work_dir() {
	WORK=$(mktemp -d)
	at_exit 'rm -rf "$WORK"'
}

# end_process PID: by SIGTERM, and by SIGKILL after five seconds.
end_process() {
	kill -TERM "$1" 2>/dev/null || return 0
	kill -CONT "$1" 2>/dev/null || true
	wait_for 5 process_ended "$1" || kill -KILL "$1" 2>/dev/null || true
	wait "$1" 2>/dev/null || true
}

process_ended() {
	local state
	state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) || return 0
	[ "$state" = Z ] || [ -z "$state" ]
}

halo() {
	"$HALO_BPF" "$@"
}

daemon_absent() {
	! halo -j status >/dev/null 2>&1
}

# with_daemon [VARIABLE=VALUE…]: start the daemon with these in its environment, and stop it at the
# end. Everything that it logs from now on is in $DAEMON_LOG.
with_daemon() {
	need_built "$HALO_BPF" "$BUILD_DIR/halo-opt"
	if ! daemon_absent; then
		tap_not_ok "no other daemon runs" "remedy: $HALO_BPF stop"
		tap_done
	fi
	DAEMON_LOG=/run/halo-bpf/log
	rm -f "$DAEMON_LOG"
	local answer
	if ! answer=$(env "$@" "$HALO_BPF" -j start 2>&1); then
		tap_not_ok "the daemon starts" "$answer" "$(tail -20 "$DAEMON_LOG" 2>/dev/null)"
		tap_done
	fi
	DAEMON_PID=$(jq -r .pid <<<"$answer")
	at_exit stop_daemon
}

stop_daemon() {
	[ -n "$DAEMON_PID" ] || return 0
	halo stop >/dev/null 2>&1 || true
	wait_for 10 process_ended "$DAEMON_PID" || kill -KILL "$DAEMON_PID"
	DAEMON_PID=
}

# program_status PATH: its record of "halo-bpf status".
program_status() {
	halo -j status | jq --arg path "$(realpath "$1")" '.programs[] | select(.path == $path)'
}

# state_is PATH STATE…: is the program's state one of these?
state_is() {
	local path=$1 state
	state=$(program_status "$path" | jq -r .state)
	shift
	[[ " $* " == *" ${state:-none} "* ]]
}

# has_section PATH STATE: is one of the program's sections in that state?
has_section() {
	program_status "$1" |
		jq -e --arg state "$2" '[.sections[] | select(.state == $state)] | length > 0'
}
