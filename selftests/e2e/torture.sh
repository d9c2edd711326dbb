#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs whose functions are all switched at random print to the byte what plain builds do.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir

. "$SELFTESTS_DIR/e2e/torture/lib.sh"
need_built "$HALO_BPF" "$BUILD_DIR/halo-opt"

for expected in "$SELFTESTS_DIR"/programs/expected/*; do
	name=$(basename "$expected")
	rounds=$(awk '$1 == "rounds" { print $2 }' "$expected")
	torture "$WORK/actual" --hold --seed 2 "$PROGRAMS_DIR/halo/$name" --rounds "$rounds"
	switched "$name" "$expected" "$WORK/actual"
done

# Switched from outside, and set back after a second.
"$PROGRAMS_DIR/halo/perlin" --endless >"$WORK/perlin" 2>/dev/null &
pid=$!
at_exit "end_process $pid"
torture /dev/null --seed 3 --seconds 1 "$pid"
tap_is "a running program: exit status" 0 "$status"
tap_is "a running program: attached" 1 "$(report .processes)"
torture "$WORK/again" --seed 3 --seconds 1 "$pid"
tap_is "a second time: refused" 1 "$status"
tap_like "a second time: with the reason" 'attached already' "$(cat "$WORK/errors" "$WORK/again")"
kill -TERM "$pid"
wait "$pid" || tap_not_ok "a running program: ends well" "exit status $?"
rounds=$(awk '$1 == "rounds" { print $2 }' "$WORK/perlin")
tap_is "a running program: same output" "$("$PROGRAMS_DIR/plain/perlin" --rounds "$rounds")" "$(cat "$WORK/perlin")"

# Through something that starts it, of which there may be several.
exe=$PROGRAMS_DIR/halo/perlin
for rounds in 50 60; do
	"$PROGRAMS_DIR/plain/perlin" --rounds "$rounds"
done >"$WORK/expected"
torture "$WORK/actual" --seed 4 --program "$exe" sh -c "'$exe' --rounds 50; '$exe' --rounds 60; exit 7"
tap_is "two processes, one after the other: same output" "$(cat "$WORK/expected")" "$(cat "$WORK/actual")"
tap_is "two processes: both attached" 2 "$(report .processes)"
tap_is "the exit status is the program's" 7 "$status"
torture /dev/null --program "$exe" sh -c 'kill -SEGV $$'
tap_is "so is the signal that it dies of" 139 "$status"
torture "$WORK/actual" true
tap_like "a program that is not prepared: said so" 'halo-cc' "$(cat "$WORK/errors" "$WORK/actual")"
tap_is "nothing is left behind" "" "$(find /run -maxdepth 1 -name 'halo-bpf-torture-*')"

# As a test suite does: hundreds of short runs, several at a time.
runs=300
torture "$WORK/actual" --hold --seed 7 --program "$exe" \
	sh -c "seq $runs | xargs -P 4 -I{} '$exe' --rounds 1"
tap_is "$runs processes: same output" \
	"$("$PROGRAMS_DIR/plain/perlin" --rounds 1 | awk -v n=$runs '{ print n, $0 }' | sort)" \
	"$(sort "$WORK/actual" | uniq -c | sed 's/^ *//' | sort)"
tap_is "$runs processes: each is attached, or said not to be" $runs "$(report '.processes + .missed')"
[ "$(report .processes)" -ge $((runs / 2)) ] ||
	tap_not_ok "$runs processes: most are attached" "$(cat "$WORK/report")"
[ "$(report .entered.variant)" -ge $((runs / 20)) ] ||
	tap_not_ok "$runs processes: short ones enter variants too" "$(cat "$WORK/report")"

# The same seed, the same choice.
choice() {
	torture /dev/null --seed "$1" --hold "$PROGRAMS_DIR/halo/lu" --rounds 1
	report '[.variants[] | "\(.function) \(.config) \(.code_size)"] | sort | join(", ")'
}
chosen=$(choice 77)
tap_is "a seed chooses what it chose before" "$chosen" "$(choice 77)"
other=$(choice 78)
[ "$chosen" != "$other" ] || tap_not_ok "another seed chooses otherwise" "$chosen"
function=${chosen%% *}
torture /dev/null --seed 77 --hold --only "$function" "$PROGRAMS_DIR/halo/lu" --rounds 1
tap_is "--only: the same variant, and no other" \
	"$(tr , '\n' <<<"$chosen" | sed 's/^ //' | grep "^$function ")" \
	"$(report '.variants[] | "\(.function) \(.config) \(.code_size)"')"
torture "$WORK/actual" --only no_such "$PROGRAMS_DIR/halo/lu" --rounds 1
tap_like "--only with an unknown name: said so" 'no function no_such' "$(cat "$WORK/errors" "$WORK/actual")"
"$HALO_BPF" torture --seed 9 --hold --functions 1 --program "$exe" sh -c 'exit 3' 2>"$WORK/report" || true
tap_is "a failure can be replayed" \
	"halo-bpf torture --seed 9 --functions 1 --hold --program $exe sh -c 'exit 3'" \
	"$(sed -n 's/^ *replay *//p' "$WORK/report")"

tap_done
