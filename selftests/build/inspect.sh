#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What "inspect" shows of programs, libraries, objects and archives; and that bad files get one clear
# error each, from it and from the daemon.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../prepared.sh"

src=$SELFTESTS_DIR/e2e/prepare
need_built "$HALO_BPF" "$HALO_CC" "$HALO_CXX" "$BUILD_DIR/halo-prepare.so"
work_dir
cd "$WORK"

for i in "" 2 3; do
	"$HALO_CC" -O2 -c "$src/calls$i.c" -o "calls$i.o"
done
"$HALO_CC" calls.o calls2.o calls3.o -o calls
"$HALO_CC" -O2 -fPIC -shared "$src/calls3.c" -o libcalls.so

program()
{
	"$HALO_BPF" inspect calls >text
	grep "build-id *$(readelf -n calls | awk '/Build ID/ { print $3 }')$" text
	grep 'units *3, with [0-9]* bytes of bitcode' text
	grep '^by_value .* yes$' text
	grep '^main .* no: main is entered once$' text
	grep 'stub *yes' text
	grep '^once\.n .* pinned' text
	grep '^calls_here .* pinned thread-local' text
	"$HALO_BPF" inspect -j calls >json
	[ "$(jq -r '.variables[] | select(.name == "once.n") | .pinned' json)" = true ]
	[ "$(jq '.variables | length' json)" = "$(rows calls .halo.var | wc -l)" ]
	[ "$(jq '.redirectable' json)" = "$(rows calls .halo.func | awk '$2' | wc -l)" ]
	# Addresses are those of the symbol table.
	addr=$(jq '.functions[] | select(.name == "by_value") | .vaddr' json)
	[ "$addr" = $((16#$(nm calls | awk '$3 == "by_value" { print $1 }'))) ]
}
check "a program" program

library()
{
	"$HALO_BPF" inspect libcalls.so >text
	grep 'kind *shared library' text
	grep '^weak_overridden .* yes$' text
}
check "a shared library" library

object()
{
	"$HALO_BPF" inspect calls.o >text
	grep 'kind *object' text
	grep '^by_value .* yes$' text
	grep '^main .* no: main is entered once$' text
	grep '^once\.n .* pinned' text
	"$HALO_BPF" inspect -j calls.o | jq -e '(.units | length) == 1 and .kind == "object"'
	"$HALO_CC" -r calls.o calls2.o calls3.o -o all.o
	"$HALO_BPF" inspect -j all.o | jq -S '[.functions[] | [.name, .reason]] | sort' >a
	"$HALO_BPF" inspect -j calls | jq -S '[.functions[] | [.name, .reason]] | sort' >b
	cmp a b
}
check "an object, also of ld -r" object

archive()
{
	printf '\t.text\n\t.globl f\nf:\tret\n' >plain.s
	clang-19 -c plain.s -o plain.o
	rm -f lib.a
	ar rcs lib.a calls.o plain.o calls2.o
	"$HALO_BPF" inspect lib.a >text
	[ "$(grep -c '^lib\.a(' text)" = 2 ]
	"$HALO_BPF" inspect -j lib.a | jq -e 'length == 2 and .[1].path == "lib.a(calls2.o)"'
	rm -f thin.a
	ar rcsT thin.a calls.o
	! "$HALO_BPF" inspect thin.a >text 2>&1 || grep 'thin\.a(' text
}
check "an archive" archive

# poke FILE SECTION OFFSET BYTES: a copy of FILE, "bad", with other bytes there
poke()
{
	local file=$1 section=$2 offset=$3 bytes=$4
	objcopy --dump-section "$section=dump" "$file" /dev/null
	printf "$bytes" | dd of=dump bs=1 seek="$offset" conv=notrunc status=none
	cp "$file" bad
	objcopy --update-section "$section=dump" bad 2>/dev/null
}

# one_error WANTED COMMAND…: it fails with one error that says so, in words and as JSON
one_error()
{
	local wanted=$1 status=0
	shift
	"$@" >out 2>error || status=$?
	cat error
	((status == 1))
	[ ! -s out ]
	(($(grep -c '^Error' error) == 1))
	grep -q "$wanted" error
	grep -q '^  remedy' error
}
bad()
{
	one_error "$1" "$HALO_BPF" inspect bad
	"$HALO_BPF" -j inspect bad 2>/dev/null >json || :
	jq -e '.error.what' json
	if [ -n "${DAEMON_PID:-}" ]; then
		chmod +x bad
		one_error "$1" "$HALO_BPF" enroll "$PWD/bad"
		"$HALO_BPF" status >/dev/null
	fi
}

if [ "$(id -u)" -eq 0 ]; then
	with_daemon
fi
many='\xff\xff\xff\xff\xff\xff\xff\x7f'
# lie SECTION OFFSET BYTES WANTED
lie()
{
	poke calls "$1" "$2" "$3"
	bad "$4"
}
while read -r section offset bytes wanted; do
	check "$section with other bytes at $offset: $wanted" lie "$section" "$offset" "$bytes" "$wanted"
done <<END
.halo.unit 0 $many wrong magic number
.halo.unit 16 $many lies outside of .halo.bc
.halo.unit 24 $many lies outside of .halo.bc
.halo.unit 32 $many claims to have
.halo.unit 40 \\xff\\xff\\xff\\x7f lies outside of .halo.str
.halo.unit 48 \\x09 format version
.halo.unit 50 \\x63\\x00 LLVM 99
.halo.func 0 $many not at executable code
.halo.func 16 $many unknown unit
.halo.func 24 \\xff\\xff\\xff\\x7f lies outside of .halo.str
.halo.var 8 $many outside of the program
.halo.var 24 \\xff\\xff\\xff\\x7f lies outside of .halo.str
.halo.stub 0 $many wrong magic number
.halo.stub 16 $many not whole writable pages
.halo.stub 32 $many scratch memory
.halo.stub 40 $many attach code
END

slot_outside()
{
	local row
	row=$(rows calls .halo.func | awk '$2 { print NR - 1; exit }')
	poke calls .halo.func $((32 * row + 8)) "$many"
	bad 'is not'
}
check "a slot outside of the slots" slot_outside

half_rows()
{
	objcopy --dump-section .halo.func=dump calls /dev/null
	truncate -s -5 dump
	cp calls bad
	objcopy --update-section .halo.func=dump bad
	bad 'not whole rows'
	cp calls bad
	objcopy --remove-section .halo.bc bad
	bad 'sections are missing'
}
check "a section cut short, or missing" half_rows

cut()
{
	local size part
	size=$(stat -c %s calls)
	for part in 3 70 1000 5000 $((size / 2)) $((size - 100)); do
		head -c "$part" calls >bad
		"$HALO_BPF" inspect bad >out 2>error && return 1
		(($? == 1 && $(grep -c '^Error' error) == 1))
		[ -z "${DAEMON_PID:-}" ] && continue
		chmod +x bad
		"$HALO_BPF" enroll "$PWD/bad" >out 2>error && return 1
		(($? == 1 && $(grep -c '^Error' error) == 1))
	done
	[ -z "${DAEMON_PID:-}" ] || "$HALO_BPF" status >/dev/null
}
check "a file cut short" cut

without_id()
{
	cp calls bad
	objcopy --remove-section .note.gnu.build-id bad
	"$HALO_BPF" inspect bad | grep "none: it can't be enrolled"
	[ -z "${DAEMON_PID:-}" ] || one_error 'build-id' "$HALO_BPF" enroll "$PWD/bad"
}
check "no build-id" without_id

stripped()
{
	cp calls bad
	strip bad
	"$HALO_BPF" inspect bad | grep '^by_value .* yes$'
	cp calls bad
	llvm-strip-19 bad
	bad 'carries no bitcode'
	grep -q 'llvm-strip' error
}
check "stripped: by strip, and by llvm-strip, which takes all" stripped

bad_object()
{
	local i
	for i in 0 16 24 32 40 48; do
		objcopy --dump-section .halo.unit=dump calls.o /dev/null
		printf "$many" | dd of=dump bs=1 seek="$i" conv=notrunc status=none
		cp calls.o bad
		objcopy --update-section .halo.unit=dump bad
		"$HALO_BPF" inspect bad >out 2>error || (($? == 1))
	done
	for i in 100 1000 5000 20000; do
		head -c "$i" calls.o >bad
		"$HALO_BPF" inspect bad >out 2>error && return 1
		(($? == 1 && $(grep -c '^Error' error) == 1))
		(head -c 200 lib.a && head -c "$i" calls.o) >bad
		"$HALO_BPF" inspect bad >out 2>error || (($? == 1))
	done
	"$HALO_CC" -O2 -flto -c "$src/calls.c" -o bad
	one_error 'for link-time optimization' "$HALO_BPF" inspect bad
	cp plain.o bad
	"$HALO_BPF" inspect bad 2>error && return 1
	grep 'carries no bitcode' error
}
check "bad objects and archives" bad_object

tap_done
