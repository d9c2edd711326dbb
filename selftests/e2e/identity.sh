#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A build-id is a name that anyone can give: a forged one, a copy that a tool rewrote, and a file that was
# replaced never get another file's code. Users of one binary do.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
need_built "$HALO_BPF" "$HALO_CC"
with_daemon

chmod 755 "$WORK"
ID=0x00112233445566778899aabbccddeeff00112233

# build NAME: programs that differ, and yet have one build-id
build() {
	echo "const char name[] = \"$1\";" >"$WORK/$1.c"
	"$HALO_CC" -O2 -Wl,--build-id=$ID "$SELFTESTS_DIR/e2e/many.c" "$WORK/$1.c" -o "$WORK/$1"
}

# run COMMAND…: start it; its number is in $pid
run() {
	"$@" >/dev/null &
	pid=$!
	at_exit "kill -KILL $pid 2>/dev/null"
}

# attached PID: by the daemon, and by what it has mapped
attached() {
	halo -j status | jq -e --argjson pid "$1" '[.programs[].pids[] | select(.pid == $pid and .attached)] | length == 1'
}

mapped() {
	grep -c '/arena-' "/proc/$1/maps" || true
}

build genuine
build forged
cp "$WORK/genuine" "$WORK/rewritten"
objcopy --add-section .more="$WORK/genuine.c" "$WORK/rewritten"
patchelf --set-rpath /nowhere "$WORK/rewritten"
tap_is "all have one build-id" 1 \
	"$(for f in genuine forged rewritten; do readelf -n "$WORK/$f" | grep 'Build ID'; done | sort -u | wc -l)"
halo enroll "$WORK/genuine" >/dev/null

run "$WORK/genuine" 1 100
first=$pid
tap_run "the program itself is attached" wait_for 30 attached "$first"
tap_is "and has the arena" 1 "$(mapped "$first")"

run "$WORK/forged" 1 100
forged=$pid
run "$WORK/rewritten" 1 100
rewritten=$pid

run setpriv --reuid=nobody --regid=nogroup --clear-groups "$WORK/genuine" 1 100
other=$pid
tap_run "another user's process of it is attached" wait_for 30 attached "$other"
tap_is "and has the arena too" 1 "$(mapped "$other")"
tap_is "which is the same file, since neither can write the program" 1 \
	"$(awk '/\/arena-/ { print $4, $5 }' "/proc/$first/maps" "/proc/$other/maps" | sort -u | wc -l)"
for name in forged rewritten; do
	tap_is "$name: not attached meanwhile" "no 0" \
		"$(attached "${!name}" >/dev/null && echo yes || echo no) $(mapped "${!name}")"
	status=0
	halo enroll "$WORK/$name" >"$WORK/said" 2>&1 || status=$?
	tap_is "$name: it can't be enrolled beside the other" 1 "$status"
	tap_is "$name: it runs on, on its own code" "" "$(process_ended "${!name}" && echo ended)"
done

# The file is replaced, as by an upgrade that kept the build-id.
cp "$WORK/forged" "$WORK/new"
mv "$WORK/new" "$WORK/genuine"
run "$WORK/genuine" 1 100
upgraded=$pid
run setpriv --reuid=nobody --regid=nogroup --clear-groups "/proc/$first/exe" 1 100
tap_run "the old file is attached after that" wait_for 30 attached "$pid"
tap_is "the new one is not" "no 0" "$(attached "$upgraded" >/dev/null && echo yes || echo no) $(mapped "$upgraded")"
tap_done
