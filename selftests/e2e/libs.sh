#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Prepared shared libraries: built by every linker, attached by their own stubs and from outside, made
# faster in programs that were not prepared themselves, closed and opened again.
set -euo pipefail
# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/../lib.sh"
SOURCES=$SELFTESTS_DIR/e2e/libs

need_root
need_built "$HALO_BPF" "$HALO_CC"
work_dir
unset HALO_DISABLE HALO_SOCKET
cd "$WORK"

library() {
	local out=$1
	shift
	"$HALO_CC" -O2 -fPIC -shared "$SOURCES/work.c" -o "$out" "$@"
}

# A program of its own choice of names must not meet the stub's.
halo_names() {
	nm -D --defined-only "$1" | awk '{ print $3 }' | grep -i halo || true
}

echo '{ global: work*; local: *; };' >only_work
while read -r name flags; do
	# shellcheck disable=SC2086
	library "$name.so" $flags
	tap_is "$name: it has a stub" 'shared library true' \
		"$(halo -j inspect "$name.so" | jq -r '"\(.kind) \(.stub)"')"
	tap_is "$name: and shows nothing of it" "" "$(halo_names "$name.so")"
done <<-END
	bfd -fuse-ld=bfd
	lld -fuse-ld=lld
	collected -Wl,--gc-sections -fuse-ld=lld
	versioned -Wl,--version-script=only_work
	symbolic -Wl,-Bsymbolic
	undefined -Wl,-z,defs
	protected -fcf-protection=full
END

library libfirst.so
library libsecond.so -DFACTOR=5u
"$HALO_CC" -O2 -pthread "$SOURCES/host.c" -o prepared
clang-19 -O2 -pthread "$SOURCES/host.c" -o plain
clang-19 -O2 -fPIC -shared "$SOURCES/work.c" -o reference.so
clang-19 -O2 -fPIC -shared -DFACTOR=5u "$SOURCES/work.c" -o reference2.so

# Orders for two libraries, which may be the prepared ones.
orders() {
	cat <<-END
		open 0 $1
		open 1 $2
		work 0 300
		work 1 200
		close 0
		work 1 100
		open 0 $1
		work 0 100
		close 1
		close 0
	END
}
expected=$(orders ./reference.so ./reference2.so | ./plain)
for program in plain prepared; do
	tap_is "$program: two libraries without a daemon" "$expected" \
		"$(orders ./libfirst.so ./libsecond.so | ./$program)"
done

# start_host PROGRAM: it takes orders from tell()
start_host() {
	coproc HOST { exec "./$1"; }
	host=$HOST_PID
	at_exit "end_process $host"
	exec 7>&"${HOST[1]}"- 8<&"${HOST[0]}"-
}

tell() {
	echo "$*" >&7
	read -r -t 60 answer <&8
}

end_host() {
	exec 7>&- 8<&-
	host_status=0
	wait "$host" || host_status=$?
}

attached() {
	program_status "$1" | jq -e --argjson pid "$2" '.pids[] | select(.pid == $pid) | .attached'
}

is_known() {
	program_status "$1" | jq -e --argjson pid "$2" '[.pids[].pid] | index($pid) != null'
}

# How many of our mappings the process has.
mappings() {
	grep -cE '/(slots|arena)-|halo-counters' "/proc/$1/maps" || true
}

with_daemon
halo enroll libfirst.so >/dev/null
start_host plain
tell open 0 ./libfirst.so
wait_for 20 attached libfirst.so "$host" || true
tap_is "a library that is opened is attached by its stub" true "$(attached libfirst.so "$host")"
tap_like "by its stub" 'attached by its stub' "$(halo explain libfirst.so)"
tap_is "with three mappings" 3 "$(mappings "$host")"
tell busy 0
wait_for 60 has_section libfirst.so adopted || true
tap_run "its hot code is made faster" has_section libfirst.so adopted
tell work 0 1000
tap_is "and gives what it gave" \
	"$(printf 'open 0 ./reference.so\nwork 0 1000\n' | ./plain | tail -1 | cut -d' ' -f1)" \
	"${answer%% *}"

tell close 0
tap_is "closed, it leaves no mapping" 0 "$(mappings "$host")"
forgotten() { ! is_known "$@"; }
wait_for 20 forgotten libfirst.so "$host" || true
tap_run "and the process is forgotten" forgotten libfirst.so "$host"
tell open 0 ./libfirst.so
wait_for 20 attached libfirst.so "$host" || true
tap_is "opened again, it is attached again" true "$(attached libfirst.so "$host")"
tell work 0 1000
first=$answer
tell close 0
tell open 0 ./libfirst.so
tell work 0 1000
tap_is "closed and opened at once too" "$first 3" "$answer $(mappings "$host")"

tell fork
child=$answer
tell work 0 10
tap_is "a child has the mappings" 3 "$(mappings "$child")"
wait_for 20 attached libfirst.so "$child" || true
tap_is "and is followed" true "$(attached libfirst.so "$child")"
tell close 0
wait_for 20 forgotten libfirst.so "$child" || true
tap_is "a child that closes it leaves its parent alone" "0 3 true" \
	"$(mappings "$child") $(mappings "$host") $(attached libfirst.so "$host")"
end_host
tap_is "nothing went wrong in it" 0 "$host_status"

# Running before it is enrolled.
start_host plain
tell open 0 ./libsecond.so
tell busy 0
halo enroll libsecond.so >/dev/null
wait_for 20 attached libsecond.so "$host" || true
tap_like "a process that runs already is attached from outside" 'from outside' \
	"$(halo explain libsecond.so)"
wait_for 60 has_section libsecond.so adopted || true
tap_run "and made faster" has_section libsecond.so adopted
tell close 0
tap_is "closed, it leaves no mapping either" 0 "$(mappings "$host")"
tell open 0 ./libsecond.so
tell work 0 10
tap_is "and is attached again when it is opened" "3 true" \
	"$(mappings "$host") $(attached libsecond.so "$host")"
tell busy 0
end_host
tap_is "a process that ends while a thread works in the library ends well" 0 "$host_status"

# A program with libraries, all enrolled: one process that each of them knows.
library libthird.so -DFACTOR=7u
halo enroll prepared >/dev/null
halo enroll libthird.so >/dev/null
start_host prepared
tell open 0 ./libfirst.so
tell open 1 ./libthird.so
for binary in prepared libfirst.so libthird.so; do
	wait_for 20 attached $binary "$host" || true
	tap_is "$binary is attached beside others" true "$(attached $binary "$host")"
done
tap_is "with three mappings each" 9 "$(mappings "$host")"
tell busy 1
wait_for 60 has_section libthird.so adopted || true
tap_run "a library's code is found hot beside others, and made faster" has_section libthird.so adopted
halo unenroll prepared >/dev/null
tell work 1 10
tap_is "the library stays when its program is unenrolled" true "$(attached libthird.so "$host")"
tell fork
child=$answer
tell work 1 10
wait_for 20 attached libthird.so "$child" || true
tap_is "for children too" "true true" \
	"$(attached libthird.so "$child") $(attached libfirst.so "$child")"
end_host
forgotten_all() { forgotten libthird.so "$1" && forgotten libfirst.so "$1"; }
wait_for 20 forgotten_all "$child" || true
tap_run "until they end" forgotten_all "$child"

tap_done
