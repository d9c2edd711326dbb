#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# How programs are named and found: by path, pid and build-id, before they start and after, copied,
# replaced, deleted, in containers, in storms of short lives. A program is followed when the kernel
# side has the process, by its number on the host.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
need_built "$HALO_BPF" "$HALO_CC" "$PROGRAMS_DIR/halo/perlin"
with_daemon

# build NAME FLAG…: $WORK/NAME, a program of its own, which sleeps most of the time
build() {
	local name=$1
	shift
	echo "const char name[] = \"$name\";" >"$WORK/name.c"
	"$HALO_CC" -O2 "$@" "$SELFTESTS_DIR/e2e/many.c" "$WORK/name.c" -o "$WORK/$name"
}

id_of() {
	readelf -n "$1" | awk '/Build ID:/ { print $3 }'
}

# run FILE: start it; its number is in $pid
run() {
	"$1" 1 50 &
	pid=$!
	at_exit "kill -KILL $pid 2>/dev/null"
	wait_for 10 test "$(readlink "/proc/$pid/exe")" != ""
}

# Is the process known to the kernel side?
sampled() {
	bpftool -j map lookup pinned /sys/fs/bpf/halo/halo_proc key hex $(printf '%08x' "$1" |
		sed 's/\(..\)\(..\)\(..\)\(..\)/\4 \3 \2 \1/') >"$WORK/entry" 2>/dev/null
}

# Neither attached nor sampled, and status says why.
left_alone() {
	! sampled "$1" && [[ $(halo -j status | jq -r --argjson pid "$1" \
		'.programs[].pids[] | select(.pid == $pid).reason') == *HALO_DISABLE=1* ]]
}

# followed PID [BUILD-ID]: by the kernel side, and by the daemon as a process of that program
followed() {
	sampled "$1" &&
		[ "$(halo -j status | jq --argjson pid "$1" --arg id "${2-}" '[.programs[] |
			select($id == "" or .build_id == $id) | .pids[] | select(.pid == $pid)] | length')" = 1 ]
}

attached() {
	[ "$(halo -j status | jq --argjson pid "$1" '.programs[].pids[] | select(.pid == $pid).attached')" = true ]
}

not_followed() {
	! followed "$@"
}

forget() {
	halo unenroll "$1" >/dev/null
}

build app
id=$(id_of "$WORK/app")

halo enroll "$WORK/app" >/dev/null
run "$WORK/app"
tap_run "by path, before it starts" wait_for 20 followed "$pid" "$id"
early=$pid
forget "$WORK/app"
tap_run "unenrolled, it is left alone" wait_for 20 not_followed "$early"
halo enroll "$WORK/app" >/dev/null
tap_run "by path, while it runs" wait_for 20 followed "$early" "$id"
forget "$WORK/app"
halo enroll "$early" >/dev/null
tap_run "by pid" wait_for 20 followed "$early" "$id"
forget "$early"
halo enroll "$id" >/dev/null
tap_run "by build-id, while it runs" wait_for 20 followed "$early" "$id"
forget "$id"
end_process "$early"

# HALO_DISABLE=1 means the same whenever the program was enrolled.
HALO_DISABLE=1 run "$WORK/app" && early=$pid
halo enroll "$WORK/app" >/dev/null
HALO_DISABLE=1 run "$WORK/app" && late=$pid
tap_run "one that was started with HALO_DISABLE=1 is left alone" wait_for 20 left_alone "$early"
tap_run "and so is one that starts with it later" wait_for 20 left_alone "$late"
forget "$WORK/app"
end_process "$early"
end_process "$late"

# Nothing runs, but it was seen when it did: started once with the daemon there.
build seen
run "$WORK/seen"
end_process "$pid"
wait_for 20 halo enroll "$(id_of "$WORK/seen")" || true
run "$WORK/seen"
tap_run "by build-id, when none runs but one did" wait_for 20 followed "$pid" "$(id_of "$WORK/seen")"
end_process "$pid"
forget "$WORK/seen"

# Copies of one binary are one program.
cp "$WORK/app" "$WORK/copy"
halo enroll "$WORK/app" >/dev/null
run "$WORK/app" && first=$pid
run "$WORK/copy" && second=$pid
tap_run "a copy of it elsewhere is the same program" wait_for 20 followed "$second" "$id"
tap_run "beside itself" wait_for 20 followed "$first" "$id"
tap_is "as one program" 1 "$(halo -j list | jq '.programs | length')"

# An upgrade: another file takes the path, while processes of the old one go on.
build new
new_id=$(id_of "$WORK/new")
mv "$WORK/new" "$WORK/app"
run "$WORK/app" && upgraded=$pid
halo enroll "$WORK/app" >/dev/null
tap_run "after an upgrade the new file is a program of its own" wait_for 20 followed "$upgraded" "$new_id"
tap_run "and the old one's processes are still followed" followed "$first" "$id"
tap_is "side by side" "$(printf '%s\n' "$id" "$new_id" | sort)" \
	"$(halo -j list | jq -r '.programs[].build_id' | sort)"
forget "$new_id"
forget "$id"
halo enroll "$first" >/dev/null
tap_run "one whose file is gone is enrolled by pid" wait_for 20 followed "$first" "$id"
forget "$id"
for pid in "$first" "$second" "$upgraded"; do end_process "$pid"; done

# A build-id is a name that anyone may give to a file. Its processes are of no program but their own.
build honest
build forged
honest_id=$(id_of "$WORK/honest")
objcopy --dump-section .note.gnu.build-id="$WORK/note" "$WORK/honest" /dev/null
objcopy --update-section .note.gnu.build-id="$WORK/note" "$WORK/forged"
tap_is "a forged file has the other's build-id" "$honest_id" "$(id_of "$WORK/forged")"
run "$WORK/forged" && before=$pid
halo enroll "$WORK/honest" >/dev/null
run "$WORK/forged" && after=$pid
run "$WORK/honest" && honest=$pid
tap_run "the honest one is attached" wait_for 20 attached "$honest"
tap_is "the forged ones are not, nor are they sampled" "no no" "$(for pid in "$before" "$after"; do
	followed "$pid" || sampled "$pid" || grep -q /arena- "/proc/$pid/maps" || echo no
done | xargs)"

# Two users of one binary: each process has slots of its own.
chmod 755 "$WORK"
setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$WORK/honest" 1 50 &
nobody=$!
at_exit "kill -KILL $nobody 2>/dev/null"
tap_run "another user's process of it is attached too" wait_for 20 attached "$nobody"
slots_of() {
	sed -n 's/.* \(.*slots-[0-9]*\)$/\1/p' "/proc/$1/maps"
}
tap_is "with slots of its own" "2" "$(for pid in "$honest" "$nobody"; do
	slots_of "$pid"
done | sort -u | wc -l)"
forget "$honest_id"
for pid in "$before" "$after" "$honest" "$nobody"; do end_process "$pid"; done

# In a container: namespaces of its own, at a path that is nothing here.
build inside -static
inside_id=$(id_of "$WORK/inside")
mkdir -p "$WORK/root/elsewhere"
mv "$WORK/inside" "$WORK/root/elsewhere/inside"
unshare --pid --mount --fork --kill-child chroot "$WORK/root" /elsewhere/inside 1 50 &
container=$!
at_exit "kill -KILL $container 2>/dev/null"
wait_for 20 pgrep -P "$container" || true
pid=$(pgrep -P "$container")
wait_for 20 test "$(readlink "/proc/$pid/exe")" = "$WORK/root/elsewhere/inside" || true
halo enroll "$pid" >/dev/null
tap_run "in a container, by its pid on the host" wait_for 20 followed "$pid" "$inside_id"
forget "$inside_id"
halo enroll "$inside_id" >/dev/null
tap_run "in a container, by build-id" wait_for 20 followed "$pid" "$inside_id"
end_process "$pid"
unshare --pid --mount --fork --kill-child chroot "$WORK/root" /elsewhere/inside 1 50 &
container=$!
at_exit "kill -KILL $container 2>/dev/null"
wait_for 20 pgrep -P "$container" || true
pid=$(pgrep -P "$container")
tap_run "in a container that starts later" wait_for 20 followed "$pid" "$inside_id"
end_process "$pid"
forget "$inside_id"

# Short lives, many at a time.
halo enroll "$PROGRAMS_DIR/halo/perlin" >/dev/null
for _ in 1 2 3 4 5; do
	for _ in {1..20}; do
		"$PROGRAMS_DIR/halo/perlin" --rounds 1 >/dev/null 2>&1 &
	done
	wait $(jobs -pr) 2>/dev/null || true
done
nothing_left() {
	[ "$(bpftool -j map dump pinned /sys/fs/bpf/halo/halo_proc | jq length)" = 0 ] &&
		[ "$(halo -j status | jq '[.programs[].pids[]] | length')" = 0 ]
}
tap_run "nothing is left of a hundred short lives" wait_for 20 nothing_left
tap_is "and nothing was lost" "0 0" \
	"$(halo -j status | jq -r '.daemon.stats | "\(.event_lost) \(.proc_full)"')"

objcopy --remove-section=.note.gnu.build-id "$WORK/app" "$WORK/none"
status=0
output=$(halo enroll "$WORK/none" 2>&1) || status=$?
tap_is "without a build-id: exit status" 1 "$status"
tap_like "it is said how to link with one" 'remedy: .*build-id' "$output"
tap_done
