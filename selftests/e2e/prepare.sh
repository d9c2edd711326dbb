#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs built with halo-cc do what those built with plain clang do, and carry sound tables.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../prepared.sh"

src=$SELFTESTS_DIR/e2e/prepare
need_built "$HALO_CC" "$HALO_CXX" "$BUILD_DIR/halo-prepare.so" "$BUILD_DIR/halo-stub.o"
work_dir
cd "$WORK"

# same CC HALO "FLAGS" FILES...: both builds link without a word, and print the same.
same()
{
	local cc=$1 halo=$2 flags=$3
	shift 3
	# shellcheck disable=SC2086
	"$cc" $flags "$@" -o plain
	# shellcheck disable=SC2086
	"$BUILD_DIR/$halo" $flags "$@" -o prepared 2>messages
	cat messages
	[ ! -s messages ]
	./plain >plain.out
	./prepared >prepared.out
	cmp plain.out prepared.out
	has_slots prepared 3
}

for flags in "-O0" "-O1 -no-pie" "-O2" "-O2 -static" "-O2 -static-pie" "-O3 -fuse-ld=lld" \
	"-Os -fuse-ld=lld -no-pie" "-O2 -g -fuse-ld=lld -static" "-O0 -g -fuse-ld=lld" \
	"-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections" \
	"-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections -fuse-ld=lld" \
	"-O2 -fcf-protection=full" "-O2 -fstack-protector-all -D_FORTIFY_SOURCE=2" \
	"-O2 -fsanitize=address" "-O1 -fsanitize=undefined -fno-sanitize=function" "-O2 -fcommon" \
	"-O2 -fno-integrated-as" "-O2 -fuse-ld=gold -Wl,--gc-sections"; do
	check "C: $flags" same clang-19 halo-cc "$flags" "$src"/calls*.c
done

for flags in "-O0 -g" "-O2" "-O2 -no-pie -fuse-ld=lld" "-O2 -static" "-Os -Wl,--gc-sections" \
	"-O2 -fsanitize=address -fuse-ld=lld"; do
	check "C++: $flags" same clang++-19 halo-c++ "$flags" "$src"/cxx*.cc
done

instrumented()
{
	# shellcheck disable=SC2086
	clang-19 $1 "$src"/calls*.c -o plain
	# shellcheck disable=SC2086
	"$HALO_CC" $1 "$src"/calls*.c -o prepared
	./plain >plain.out
	./prepared >prepared.out
	cmp plain.out prepared.out
	if readelf -SW prepared | grep '\.halo\.func' >found; then
		rows prepared .halo.func | awk '$2 != 0' >redirected
		[ ! -s redirected ]
	fi
}
for flags in "-O1 -pg" "-O1 --coverage" "-O2 -fprofile-instr-generate -fcoverage-mapping" \
	"-O2 -fprofile-generate" "-O2 -mretpoline" "-O2 -fpatchable-function-entry=5"; do
	check "nothing is redirected: $flags" instrumented "$flags"
done

# Tables.
"$HALO_CC" -O2 -no-pie "$src"/calls*.c -o calls
check "entries are jumps through slots" has_entry calls by_value

slot_values()
{
	local base addr slot value count=0
	base=$(stub_word calls 2)
	objcopy --dump-section halo_slots=slots calls /dev/null
	while read -r addr slot _; do
		((slot == 0)) && continue
		value=$(od -An -t u8 -j $((slot - base)) -N 8 slots | tr -d ' ')
		((value == addr + 16)) || return 1
		count=$((count + 1))
	done < <(rows calls .halo.func)
	((count > 5))
}
check "a slot begins as its function's own code" slot_values

ibt_entry()
{
	"$HALO_CC" -O2 -fcf-protection=full "$src"/calls*.c -o ibt
	objdump -d --no-show-raw-insn --disassemble=by_value ibt | grep -A2 '<by_value>:' >entry
	sed -n 2p entry | grep endbr64
	sed -n 3p entry | grep 'jmp  *\*'
}
check "with IBT an entry begins with endbr64" ibt_entry

ibt_note()
{
	printf 'int main(void)\n{\n\treturn 0;\n}\n' >note.c
	"$HALO_CC" -nostartfiles -fcf-protection=full -r -o note.o -c note.c
	ld -r note.o "$BUILD_DIR"/halo-begin.o "$BUILD_DIR"/halo-stub.o "$BUILD_DIR"/halo-end.o -o all.o
	readelf -n all.o | grep 'IBT, SHSTK'
}
check "our objects allow IBT and shadow stacks" ibt_note

table_names()
{
	names calls >names.out
	for name in by_value variadic local_variadic calls calls_here once.n word.last words; do
		# Linkers share the tails of names.
		grep -q "$name$" names.out || { echo "no $name"; return 1; }
	done
}
check "functions, statics and thread-locals have rows" table_names

var_addresses()
{
	# .halo.var's addresses are those of the symbol table.
	readelf -sW calls | awk '$4 == "OBJECT" {print $2}' | while read -r hex; do
		echo $((16#$hex))
	done >symbols
	rows calls .halo.var | awk '$1 > 4096 {print $1}' >vars
	[ -s vars ]
	while read -r addr; do
		grep -qx "$addr" symbols || { echo "$addr"; return 1; }
	done <vars
}
check "variables' rows hold their addresses" var_addresses

stripped()
{
	cp calls stripped
	"$@" stripped
	readelf -SW stripped >sections
	for s in unit bc func var str stub; do
		grep -q "\.halo\.$s " sections || { echo "no .halo.$s"; return 1; }
	done
	has_slots stripped 5
	./calls >a
	./stripped >b
	cmp a b
}
check "tables survive strip" stripped strip
check "tables survive llvm-strip --strip-debug" stripped llvm-strip-19 --strip-debug
check "tables survive llvm-strip when told to" stripped llvm-strip-19 --wildcard \
	--keep-section='.halo.*'

not_loaded()
{
	readelf -SW calls | grep '\.halo\.' >sections
	no grep -E ' 0{8}[0-9a-f]*[1-9a-f][0-9a-f]* +[0-9a-f]{6} ' sections
}
check "tables take no memory at run time" not_loaded

bitcode()
{
	local bc size
	"$HALO_CC" -O2 -g -c "$src/calls.c" -o one.o
	"$HALO_CC" one.o "$src"/calls[23].c -o one
	objcopy --dump-section .halo.unit=unit --dump-section .halo.bc=bc one /dev/null
	read -r _ _ bc size _ < <(od -An -v -t u8 -w56 -N 56 unit)
	head -c $((bc + size)) bc | tail -c "$size" | zstd -dq >unit.bc
	llvm-dis-19 unit.bc -o unit.ll
	# As written: no optimization has been at it, and nothing of ours is in it.
	grep -q '^@once.n = internal global i32 0' unit.ll
	grep -q 'call i32 @once()' unit.ll
	no grep -q 'halo\|llvm.compiler.used' unit.ll
}
if command -v zstd >/dev/null; then
	check "the bitcode is the unit as it was written" bitcode
else
	tap_skip "the bitcode is the unit as it was written" "zstd is not installed"
fi

debug_same()
{
	"$HALO_CC" -O2 -c "$src/calls.c" -o without.o
	"$HALO_CC" -O2 -g -c "$src/calls.c" -o with.o
	objdump -dr --no-show-raw-insn without.o | tail -n +4 >a
	objdump -dr --no-show-raw-insn with.o | tail -n +4 >b
	[ -s a ]
	cmp a b
}
check "-g changes no code" debug_same

repeatable()
{
	"$HALO_CC" -O2 -c "$src/cxx1.cc" -o a.o
	"$HALO_CC" -O2 -c "$src/cxx1.cc" -o b.o
	cmp a.o b.o
}
check "the same source gives the same object" repeatable

one_row()
{
	local count
	"$HALO_CXX" -O2 $1 "$src"/cxx*.cc -o cxx
	nm cxx >symbols
	grep -q ' W _Z12shared_counti$' symbols
	count=$(rows cxx .halo.func | awk '{print $1}' | sort | uniq -d | wc -l)
	((count == 0))
	# All rows name functions of the program.
	has_slots cxx 3
}
check "one row for an inline function of two units (GNU ld)" one_row ""
check "one row for an inline function of two units (lld)" one_row -fuse-ld=lld

dropping()
{
	"$HALO_CC" "$1" -ffunction-sections -fdata-sections -Wl,--gc-sections $2 \
		"$src/gc.c" -o gc
	./gc
	has_slots gc 1
	names gc >names.out
	grep -qx kept names.out
	grep -qx state names.out
	(($(rows gc .halo.var | wc -l) == 2))
	(($(rows gc .halo.func | wc -l) == 2))
}
for ld in bfd lld; do
	check "--gc-sections drops functions and rows, -O2, $ld" dropping -O2 -fuse-ld=$ld
	check "--gc-sections drops functions and rows, -O0, $ld" dropping -O0 -fuse-ld=$ld
done

folded()
{
	"$HALO_CC" -O2 "$src/folded.c" -o folded
	[ "$(./folded)" = 2 ]
}
check "a dead table holds no reference" folded

local_kernel()
{
	"$HALO_CC" -O3 "$src/local.c" -o local
	[ "$(./local)" = 4 ]
	names local >names.out
	grep -qx kernel names.out
	no grep -qx unused names.out
	has_slots local 1
}
check "a local noinline function keeps its signature and has a slot" local_kernel

# Entries that count change r11.
registers()
{
	cat >registers.c <<-END
		#define LOOP(x) do for (long i = 0; i < 99; i++) sum += i * (x) ^ sum >> 3; while (0)
		volatile long sum;
		void usual(long x) { LOOP(x); }
		__attribute__((preserve_none)) void argument_in_r11(long x) { LOOP(x); }
		__attribute__((no_caller_saved_registers)) void nothing_free(long x) { LOOP(x); }
		int main(void) { return 0; }
	END
	"$HALO_CC" -O2 -mgeneral-regs-only registers.c -o registers
	rows registers .halo.func | awk '$1 && $2 {print $1}' >slots
	[ "$(cat slots)" = $((16#$(nm registers | awk '$3 == "usual" {print $1}'))) ]
}
check "a function that leaves no register free has no slot" registers

traced()
{
	"$HALO_CC" -O2 -rdynamic "$src/trace.c" -o trace
	./trace >names.out
	printf '(inner\n(outer\n(main\n' | cmp - names.out
}
check "backtrace_symbols knows functions with entries" traced

stack()
{
	readelf -lW calls | grep GNU_STACK >line
	grep -q ' RW ' line
}
check "the stack is not executable" stack

exported()
{
	"$HALO_CC" -O2 -rdynamic "$src"/calls*.c -o exported
	readelf --dyn-syms -W exported >symbols
	no grep -i '[ _]halo' symbols
}
check "nothing of ours is exported" exported

# The driver.
overridden()
{
	# The losing weak copy has a row of its own, with its own address and the flag.
	local winner
	objcopy --dump-section .halo.func=dump calls /dev/null
	winner=$((16#$(nm calls | awk '$3 == "weak_overridden" {print $1}')))
	od -An -v -t u8 -w32 dump | awk '{print $1}' >addresses
	od -An -v -t u2 -w32 dump | awk '{print $15}' >flags
	paste addresses flags >pairs
	grep -q "^$winner	0$" pairs
	(($(awk '$2 == 8' pairs | wc -l) == 2))
	no grep -q "^$winner	8$" pairs
}
check "a weak definition that loses has its own row" overridden

archive()
{
	for i in 2 3; do "$HALO_CC" -O2 -c "$src/calls$i.c"; done
	rm -f lib.a
	ar rcs lib.a calls3.o calls2.o
	"$HALO_CC" -O2 "$src/calls.c" lib.a -o archived
	clang-19 -O2 -c "$src/calls2.c" "$src/calls3.c"
	rm -f lib.a
	ar rcs lib.a calls3.o calls2.o
	clang-19 -O2 "$src/calls.c" lib.a -o plain
	./archived >a
	./plain >b
	cmp a b
	has_slots archived 5
}
check "archives made by ar" archive

shared()
{
	cp "$src/calls2.c" "$src/calls3.c" .
	"$HALO_CC" -O2 -fPIC -shared calls3.c -o lib3.so ${1:-}
	"$HALO_CC" -O2 "$src/calls.c" calls2.c -L. -l3 -Wl,-rpath,. -o shared ${1:-}
	./shared >a
	clang-19 -O2 "$src"/calls*.c -o plain
	./plain >b
	cmp a b
}
check "shared libraries (GNU ld)" shared
check "shared libraries (lld)" shared -fuse-ld=lld

relocatable()
{
	"$HALO_CC" -O2 -c "$src"/calls.c "$src"/calls2.c "$src"/calls3.c
	"$HALO_CC" -r calls.o calls2.o calls3.o -o all.o
	"$HALO_CC" all.o -o all
	./all >a
	./calls >b
	cmp a b
	has_slots all 5
}
check "-r" relocatable

default_output()
{
	rm -f a.out
	"$HALO_CC" -O2 -x c "$src"/calls*.c
	./a.out >a
	./calls >b
	cmp a b
	has_slots a.out 5
}
check "no -o, -x c" default_output

response()
{
	printf '%s\n' "-O2 '$src/calls.c'" "\"$src/calls2.c\"" "$src/calls3.c -o resp" >inner.rsp
	echo "@inner.rsp" >args.rsp
	"$HALO_CC" @args.rsp
	./resp >a
	./calls >b
	cmp a b
	has_slots resp 5
	echo "-c" >mode.rsp
	"$HALO_CC" @mode.rsp "$src/gc.c" -o gc.o
	readelf -h gc.o | grep REL >found
	readelf -SW gc.o | grep "\.halo\.func" >found
}
check "response files" response

through_assembly()
{
	"$HALO_CC" -O2 -S "$src/calls.c" -o calls.s
	"$HALO_CC" -Werror -c calls.s -o calls.o
	"$HALO_CC" calls.o "$src"/calls[23].c -o viaasm
	./viaasm >a
	./calls >b
	cmp a b
	"$HALO_CC" -O2 -save-temps "$src"/calls*.c -o temps
	./temps >a
	cmp a b
	has_slots temps 5
}
check "-S, assembly, -save-temps" through_assembly

quiet()
{
	local out
	out=$({
		"$HALO_CC" -Werror -Wall -E "$src/gc.c" >/dev/null
		"$HALO_CC" -Werror -Wall -M "$src/gc.c" >/dev/null
		"$HALO_CC" -Werror -Wall -fsyntax-only "$src/gc.c"
		"$HALO_CC" -Werror -Wall -c -x assembler /dev/null -o empty.o
		"$HALO_CC" -Werror -Wall no-such-file.o 2>/dev/null || :
		"$HALO_CC" --version >/dev/null
		"$HALO_CC" -print-search-dirs >/dev/null
		"$HALO_CC" -dumpmachine >/dev/null
		"$HALO_CC" -v 2>/dev/null
	} 2>&1)
	[ -z "$out" ] || { echo "$out"; return 1; }
	[ "$("$HALO_CC" --version)" = "$(clang-19 --version)" ]
}
check "queries and half-way modes are clang's own" quiet

status()
{
	local want=0 got=0
	echo 'int main( {' >bad.c
	clang-19 bad.c 2>/dev/null || want=$?
	"$HALO_CC" bad.c 2>/dev/null || got=$?
	((want != 0 && want == got))
}
check "errors are clang's own" status

odd_names()
{
	cat >odd.c <<'EOF'
#include <stdio.h>
int f(int) __asm__("odd-name x@y$1");
static int v __asm__("9v-(a)");
int f(int n) { for (int i = 0; i < n; i++) v = v * 3 ^ i; return v; }
static __thread int t __asm__("t l");
int g(int) __asm__("$g");
int g(int n) { for (int i = 0; i < n; i++) t ^= i; return t; }
int main(void) { printf("%d %d\n", f(5), g(9)); return 0; }
EOF
	"$HALO_CC" -O2 odd.c -o odd
	[ "$(./odd)" = "4 8" ]
	has_slots odd 2
}
check "names that need quotes" odd_names

no_build_id()
{
	no "$HALO_CC" calls.o "$src"/calls[23].c -Wl,--build-id=none -o noid 2>why
	grep -q 'no build-id' why
	grep -q 'remedy:' why
}
check "a program without build-id is an error" no_build_id

own_build_id()
{
	"$HALO_CC" calls.o "$src"/calls[23].c -Wl,--build-id=0xabcdef0123456789 -o ownid
	readelf -n ownid | grep -q 'Build ID: abcdef0123456789'
}
check "a build-id option of the user's stays" own_build_id

shuffled()
{
	"$HALO_CC" calls.o "$src"/calls[23].c -fuse-ld=lld -Wl,--shuffle-sections="$1" -o shuffled
	has_slots shuffled 5
	./shuffled >a
	./calls >b
	cmp a b
}
check "sections shuffled by lld" shuffled '*=5'
check "sections reversed by lld" shuffled 'halo_slots=-1'

moved()
{
	printf 'SECTIONS { halo_slots : { *halo-end.o(halo_slots) *(halo_slots) } } INSERT AFTER .data;\n' >moved.lds
	no "$HALO_CC" calls.o "$src"/calls[23].c -fuse-ld=bfd -Wl,-dT,moved.lds -o moved 2>why
	cat why
	grep -q 'cause:  the linker moved' why
	grep -q 'remedy:' why
}
check "slots that the linker moved are an error" moved

unreachable_target()
{
	"$HALO_CC" -m32 -O2 -ffreestanding -c "$src/calls2.c" -o 32.o
	readelf -SW 32.o >sections
	no grep halo sections
	"$HALO_CC" -mcmodel=large -O2 -c "$src/calls2.c" -o large.o
	readelf -SW large.o >sections
	no grep halo sections
	"$HALO_CC" -O2 -fsanitize=thread "$src"/calls*.c -o tsan
	readelf -SW tsan >sections
	no grep halo sections
}
check "other targets and thread sanitizer stay as they are" unreachable_target

parallel()
{
	cat >Makefile <<EOF
CC = $HALO_CC
CFLAGS = -O2
VPATH = $src
par: calls.o calls2.o calls3.o
EOF
	printf '\t$(CC) $^ -o $@\n' >>Makefile
	rm -f calls.o calls2.o calls3.o
	MAKEFLAGS='' make -s -j4 par
	./par >a
	./calls >b
	cmp a b
}
check "parallel make" parallel

tap_done
