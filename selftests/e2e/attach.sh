#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs are attached at their start and while they run, and are none the worse for it, whatever
# the daemon says and whatever they are doing.
set -euo pipefail
# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/../lib.sh"

# shellcheck source=selftests/e2e/attach/lib.sh
. "$(dirname "$0")/attach/lib.sh"

socket=$WORK/socket

# serve EXECUTABLE HOW: a daemon on $socket, in the background, as $server.
serve() {
	rm -f "$socket" "$WORK/serve"
	timeout 60 "$driver" serve "$1" "$socket" "$2" >"$WORK/serve" 2>&1 &
	server=$!
	wait_for 20 grep -q listening "$WORK/serve"
}

# run COMMAND…: the program's output and exit status.
run() {
	local status=0
	HALO_SOCKET=$socket timeout 60 "$@" 2>&1 || status=$?
	echo "status $status"
}


for kind in target target-nopie target-static target-static-pie; do
	serve "$dir/$kind" right
	tap_is "$kind: attached before main, and switched" $'ready\nstatus 0' \
		"$(run "$dir/$kind" threads)"
	wait "$server" || true
	tap_is "$kind: the daemon saw it" $'listening\ndone 0 0 0\nrseq yes\nswitched' \
		"$(cat "$WORK/serve")"
done

# What a daemon may do wrong, and how the program answers. -71 EPROTO, -125 ECANCELED, -17 EEXIST,
# -84 EILSEQ, -22 EINVAL, -29 ESPIPE.
while read -r how answer; do
	serve "$dir/target" "$how"
	tap_is "$how: the program runs on" $'14\nstatus 0' "$(run "$dir/target")"
	wait "$server" || true
	tap_is "$how: ${answer:-nothing more is said}" "$(echo listening "$answer" | xargs)" \
		"$(tr '\n' ' ' <"$WORK/serve" | xargs)"
done <<-END
	die-at-once
	die-after-hello
	silence
	die-after-offer
	garbage done -71 0 0
	short no answer
	no-descriptors no answer
	two-descriptors no answer
	four-descriptors no answer
	other-slots done -71 0 0
	writable-code done -71 0 0
	over-text done -125 -17 0
	empty-slots done -84 0 0
	short-files done -125 -22 -22
	pipes done -125 -29 0
END

serve "$dir/target" right
HALO_DISABLE=1 HALO_SOCKET=$socket "$dir/target" >/dev/null
tap_is "HALO_DISABLE=1: the program does not connect" "listening" "$(cat "$WORK/serve")"
# Rights beyond the caller's: the environment is not listened to.
install -m 4755 "$dir/target" "$WORK/setuid"
chmod 755 "$WORK"
setpriv --reuid 65534 --clear-groups env HALO_SOCKET="$socket" "$WORK/setuid" >/dev/null
tap_is "setuid: the program does not connect to HALO_SOCKET" "listening" "$(cat "$WORK/serve")"
kill "$server"
wait "$server" || true

# As root of a container that has all capabilities there, and as root without any.
while read -r text command; do
	serve "$dir/target" right
	# shellcheck disable=SC2086
	tap_is "$text: no descriptor that it is given can be opened for writing" \
		$'grabbed\nstatus 0' "$(GRAB_FROM=$socket HALO_DISABLE=1 run $command \
			"$dir/target" grab)"
	kill "$server" 2>/dev/null || true
	wait "$server" || true
done <<-END
	root env
	root-without-capabilities setpriv --inh-caps=-all --bounding-set=-all
	root-of-a-container unshare --user --map-root-user --mount
END

tap_is "without a daemon nobody can write the slots" "r--p" "$(
	begin "$dir/target" busy
	start=$(nm "$dir/target" | sed -n 's/ . __halo_slots_begin$//p')
	base=$(sed -n '1s/-.*//p' "/proc/$target/maps")
	sed -n "s/^$(printf '%x' $((0x$base + 0x$start)))-[^ ]* \(....\).*/\1/p" \
		"/proc/$target/maps"
	kill "$target"
)"

# Running: every way to sleep, with the system call in which the program must be found, and every
# one of them must end as if nothing had been.
while read -r mode number; do
	begin "$dir/target" "$mode"
	[ -z "$number" ] || wait_for 20 asleep "$target" "$number"
	inject "$dir/target" >"$WORK/inject" &
	injector=$!
	wait_for 20 grep -q . "$WORK/inject"
	case $mode in
	read) echo >&9 ;;
	signal) kill -USR1 "$target" ;;
	esac
	wait "$injector" || true
	tap_like "$mode: attached while it ran, nothing left in it, switched" "switched" \
		"$(cat "$WORK/inject")"
	noticed_nothing "$mode"
	[ "$mode" != protected ] ||
		tap_is "the program can write neither slots nor arena" $'ready\nprotected' \
			"$(cat "$WORK/target")"
done <<-END
	busy
	threads
	fork
	signals
	protected
	nanosleep 230
	epoll 232
	read 0
	semtimedop 220
	sigtimedwait 128
	signal 232
END

for kind in target-nopie target-static target-static-pie; do
	begin "$dir/$kind" busy
	tap_like "$kind: attached while it ran" "switched" "$(inject "$dir/$kind" || true)"
	noticed_nothing "$kind"
done

# Whoever attaches may die at any moment. It is killed at each of its steps in turn, until it lives
# to the end. The program must notice nothing, whether it was attached by then or not. (But for EINTR
# from epoll_wait and the like, as after SIGSTOP and SIGCONT, if it comes right behind the stop.)
steps=ptrace,process_vm_readv,process_vm_writev,pidfd_getfd,readlink,sendmsg,poll,sched_setattr
steps=$steps,sched_getattr,sched_setscheduler

# attach_killed MODE NUMBER: prints at which step it was attached at last, or what went wrong
attach_killed() {
	local step status
	for ((step = 1; step < 80; step++)); do
		begin "$dir/target" "$1"
		[ -z "$2" ] || wait_for 20 asleep "$target" "$2"
		strace -f -o /dev/null -e trace="$steps" -e inject="$steps:signal=KILL:when=$step" \
			"$driver" inject "$dir/target" "$target" >"$WORK/inject" 2>&1 || true
		status=0
		wait "$target" || status=$?
		if [ "$status" -ne 0 ]; then
			echo "killed at step $step: status $status, $(cat "$WORK/target")"
			return
		fi
		if grep -q '^attached' "$WORK/inject"; then
			echo "attached at step $step"
			return
		fi
	done
	echo "never attached: $(cat "$WORK/inject")"
}

while read -r mode number; do
	if [ -x "$(command -v strace)" ]; then
		tap_like "$mode: whoever attaches it is killed at any step" \
			"^attached at step [1-9][0-9]" "$(attach_killed "$mode" "$number")"
	else
		tap_skip "$mode: whoever attaches it is killed at any step" "no strace"
	fi
done <<-END
	registers
	soon 230
END

# In namespaces of its own, as in a container: nothing of ours is in its sight.
while read -r text command; do
	: >"$WORK/target"
	# shellcheck disable=SC2086
	$command "$dir/target" protected <"$WORK/input" >"$WORK/target" 2>&1 &
	starter=$!
	wait_for 20 grep -q ready "$WORK/target"
	target=$(pgrep -n -x target)
	tap_like "$text: attached while it ran, switched" "switched" "$(inject "$dir/target" || true)"
	target=$starter
	noticed_nothing "$text"
	tap_is "$text: it can write neither slots nor arena" $'ready\nprotected' \
		"$(cat "$WORK/target")"
done <<-END
	mount-namespace unshare --mount
	pid-namespace unshare --pid --fork --mount-proc
	network-namespace unshare --net
	container unshare --user --map-root-user --mount --pid --fork --mount-proc --net --ipc
	another-user setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all
	chroot chroot /
END

# To be left alone.
while read -r mode reason; do
	begin "$dir/target" "$mode"
	tap_like "$mode: refused" "$reason" "$(inject "$dir/target" || true)"
	pkill -KILL -P "$target" || true
	kill -KILL "$target"
	wait "$target" 2>/dev/null || true
done <<-END
	seccomp seccomp filter
	vfork none of its threads
END

begin "$dir/target" busy
kill -STOP "$target"
wait_for 20 grep -q '^State:.*stopped' "/proc/$target/status"
tap_like "stopped: refused" "it is stopped" "$(inject "$dir/target" || true)"
tap_like "stopped: it stays so" "stopped" "$(grep '^State' "/proc/$target/status")"
kill -CONT "$target"
if [ -x "$(command -v strace)" ]; then
	strace -o /dev/null -p "$target" 2>"$WORK/strace" &
	tracer=$!
	wait_for 20 grep -q attached "$WORK/strace"
	tap_like "traced: refused" "another tracer" "$(inject "$dir/target" || true)"
	kill "$tracer"
	wait "$tracer" || true
else
	tap_skip "traced: refused" "strace is not installed"
fi
tap_like "then attached after all" "switched" "$(inject "$dir/target" || true)"
noticed_nothing "after that"

# Without the slots, which are the program's, what is not loaded, what the linker merges into the
# program's own note, and the scratch memory, which is untouched before an attach.
size=$(size -A "$BUILD_DIR"/halo-{begin,stub,unwind,end}.o |
	awk '$1 ~ /^\./ && $1 !~ /comment|addrsig|property|^\.halo|^\.bss/ { sum += $2 } END { print sum }')
tap_is "the stub is under 4 KiB" yes "$([ "$size" -lt 4096 ] && echo yes || echo "$size")"

tap_done
