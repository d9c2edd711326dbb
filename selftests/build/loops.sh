#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Loops that are entered once become functions with slots; what they compute stays the same, and what
# can't be taken out of its place says why.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../prepared.sh"

src=$SELFTESTS_DIR/build/loops
export HALO_LOOPS=1
need_built "$HALO_BPF" "$HALO_CC" "$HALO_CXX" "$BUILD_DIR/halo-prepare.so"
work_dir
cd "$WORK"

# has FUNCTION REGEX: is that what "inspect" says of it?
has()
{
	"$HALO_BPF" inspect prepared >text
	grep -E "^$1 .* $2\$" text
}

# same COMPILER HALO "FLAGS" FILE ARG…: both builds print the same
same()
{
	local cc=$1 halo=$2 flags=$3 file=$4
	shift 4
	# shellcheck disable=SC2086
	"$cc" $flags "$src/$file" -o plain -pthread
	# shellcheck disable=SC2086
	"$BUILD_DIR/$halo" $flags "$src/$file" -o prepared -pthread 2>messages
	[ ! -s messages ]
	./plain "$@" >plain.out
	./prepared "$@" >prepared.out
	cmp plain.out prepared.out
}

for flags in -O1 -O2 "-O3 -march=native -ffp-contract=off" -Os "-O2 -flto -fuse-ld=lld" \
	"-O2 -flto=thin -fuse-ld=lld" "-O2 -no-pie -fuse-ld=lld" "-O2 -fsanitize=address" "-O0 -g"; do
	check "shapes: $flags" same clang-19 halo-cc "$flags" shapes.c
done
check "shapes, fewer than one share" same clang-19 halo-cc -O2 shapes.c 7

outlined()
{
	same clang-19 halo-cc "-O2 -g" shapes.c
	for name in counting left_early pointers doing thread; do
		has "$name\\.loop\\.1" yes
	done
	"$HALO_BPF" inspect -j prepared | jq -e '.functions[] | select(.name == "main") | .loops == ""'
}
check "each has a slot" outlined

vectorized()
{
	# The loop over 32-bit words; a look at a budget in it would keep LLVM from that.
	objdump -d --no-show-raw-insn prepared | awk '/^[0-9a-f]+ <counting\.loop/ { on = 1 }
		/^$/ { on = 0 } on' >code
	grep -q 'paddq.*xmm' code
}
check "what counts is vectorized still" vectorized

debugged()
{
	local line
	line=$(grep -n 'sum = sum \* 7' "$src/shapes.c" | cut -d: -f1)
	gdb -nx -q -batch -ex 'set debuginfod enabled off' -ex "break shapes.c:$line" -ex run -ex bt \
		-ex 'print j' ./prepared >gdb.out 2>&1
	grep -E "^#0 .*thread\\.loop\\.1 .*shapes\\.c:$line" gdb.out
	grep -E '^#1 .*thread .*shapes\.c' gdb.out
	grep -E '^\$1 = [0-9]+' gdb.out
}
if command -v gdb >/dev/null; then
	check "a debugger finds lines, callers and variables" debugged
else
	tap_skip "a debugger finds lines, callers and variables" "gdb is missing"
fi

refused()
{
	same clang-19 halo-cc "-O2 -fno-inline" refused.c
	has on_stack '.*it allocates on the stack'
	has jumping '.*it calls setjmp or vfork'
	has labels '.*it has computed gotos'
	has variadic '.*it reads variable arguments'
	has assembly '.*assembly jumps out of it'
	has framed '.*it asks for its frame'
	no grep -F .loop. text
}
check "loops that must keep their place do, and say why" refused
check "the same, inlined" same clang-19 halo-cc -O2 refused.c

exceptions()
{
	same clang++-19 halo-c++ "$1" exceptions.cc
	grep -F 'passing: limit' prepared.out
	"$HALO_BPF" inspect prepared >text
	grep -E '^_ZL7passingi\.loop\.1 .* yes$' text
	no grep -E '^_ZL6caughti\.loop' text
}
for flags in "-O2 -fno-inline" "-O2 -fno-inline -static"; do
	check "exceptions pass through: $flags" exceptions "$flags"
done

machine()
{
	same clang-19 halo-cc "$1" machine.c 20000
	has 'interpret\.loop\.1' yes
}
for flags in -O1 -O2 -Os "-O2 -flto -fuse-ld=lld"; do
	check "an interpreter: $flags" machine "$flags"
done

instrumented()
{
	same clang-19 halo-cc "$1" shapes.c
	"$HALO_BPF" inspect prepared >text
	no grep -F .loop. text
}
check "instrumentation keeps loops in place" instrumented "-O2 -pg"

tap_done
