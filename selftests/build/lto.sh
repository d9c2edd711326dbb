#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# -flto and -flto=thin: entries, slots and tables are made at the link.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../prepared.sh"

src=$SELFTESTS_DIR/build/lto
calls=$SELFTESTS_DIR/e2e/prepare
need_built "$HALO_BPF" "$HALO_CC" "$HALO_CXX" "$BUILD_DIR/halo-prepare.so" "$BUILD_DIR/halo-slots.lds"
work_dir
cd "$WORK"

clang-19 -O2 "$calls"/calls*.c -o plain
./plain >plain.out
clang++-19 -O2 "$calls"/cxx*.cc -o plain
./plain >cxx.out

# same HALO WANTED MIN_SLOTS "FLAGS" FILES...
same()
{
	local halo=$1 wanted=$2 min=$3 flags=$4
	shift 4
	# shellcheck disable=SC2086
	"$BUILD_DIR/$halo" $flags -fuse-ld=lld "$@" -o prepared 2>messages
	cat messages
	[ ! -s messages ]
	./prepared | cmp - "$wanted"
	has_slots prepared "$min"
	"$HALO_BPF" inspect prepared >/dev/null
}

for flags in "-O0 -flto" "-O3 -flto -g -static" "-Os -flto=thin -no-pie" "-O0 -flto=thin" \
	"-O2 -flto=thin -static-pie -fPIE" "-O2 -flto -Wl,--gc-sections -fvisibility=hidden" \
	"-O2 -flto -Wl,--lto-O0" "-O2 -flto=thin -Wl,--lto-O0" "-O1 -flto -fcf-protection=full" \
	"-O2 -flto -fstack-protector-all" "-O2 -flto -fsanitize=address" "-O2 -flto=thin -fsanitize=undefined" \
	"-O2 -flto -Wl,--shuffle-sections=*=3" "-O2 -flto -Wl,--icf=all"; do
	check "C: $flags" same halo-cc plain.out 5 "$flags" "$calls"/calls*.c
done
for flags in "-O2 -flto" "-O2 -flto=thin" "-O0 -flto=thin" "-O2 -flto -static"; do
	check "C++: $flags" same halo-c++ cxx.out 3 "$flags" "$calls"/cxx*.cc
done

apart()
{
	local lto=$1 ar=$2
	for i in 1 2 3; do
		clang-19 -O2 -c "$calls/calls${i#1}.c" -o "$i.o"
	done
	rm -f lib.a
	ar rcs lib.a 3.o 2.o
	clang-19 1.o lib.a -o apart.plain
	for i in 1 2 3; do
		"$HALO_CC" -O2 "$lto" -c "$calls/calls${i#1}.c" -o "$i.o"
	done
	rm -f lib.a
	"$ar" rcs lib.a 3.o 2.o
	# Bitcode is optimized also if only its compilation was asked to.
	"$HALO_CC" -fuse-ld=lld 1.o lib.a -o apart
	./apart.plain >a
	./apart | cmp - a
	has_slots apart 5
}
check "-c, an archive by llvm-ar, -flto" apart -flto llvm-ar-19
check "-c, an archive by llvm-ar, -flto=thin" apart -flto=thin llvm-ar-19
if nm --help | grep -q plugin && [ -e /usr/lib/bfd-plugins/LLVMgold-19.so ]; then
	check "-c, an archive by GNU ar, -flto" apart -flto ar
else
	tap_skip "-c, an archive by GNU ar, -flto" "GNU ar has no plugin that reads bitcode"
fi

# One unit each by gcc, by clang with link-time optimization, by halo-cc without, by halo-cc with.
mixed()
{
	gcc -O2 -c "$calls/calls3.c" -o 3.o
	clang-19 -O2 "$1" -c "$calls/calls2.c" -o 2.o
	"$HALO_CC" -O2 "$1" -c "$calls/calls.c" -o 1.o
	"$HALO_CC" -O2 -c "$src/step.c" -o 4.o
	"$HALO_CC" "$1" -fuse-ld=lld 1.o 2.o 3.o 4.o -o mixed
	./mixed | cmp - plain.out
	has_slots mixed 5
	names mixed >names.out
	grep -qx by_value names.out
	no grep -qx weak_overridden names.out
}
check "objects of gcc and clang, -flto" mixed -flto
check "objects of gcc and clang, -flto=thin" mixed -flto=thin

locals()
{
	# Link-time optimization makes nearly all functions local: their rows still say what they were.
	"$HALO_CC" -O2 "$1" -fuse-ld=lld "$calls"/calls*.c -o locals
	"$HALO_BPF" inspect -j locals >inspected
	[ "$(jq -r '.functions[] | select(.name == "by_value") | .redirectable' inspected)" = true ]
	[ "$(jq '.units | length' inspected)" = 3 ]
	# Each unit's own "word" and "once.n", under the names that its bitcode has.
	names locals >names.out
	grep -q 'once\.n$' names.out
	no grep -q '\.llvm\.' names.out
	# Of the two definitions of weak_overridden the row is that of the one that won.
	"$HALO_CC" -O2 "$1" -fuse-ld=lld -Wl,-z,now "$calls"/calls*.c -o locals
	has_slots locals 5
}
check "rows speak of units as they were, -flto" locals -flto
check "rows speak of units as they were, -flto=thin" locals -flto=thin

# Local variables of the program that optimization would shrink to a byte, or make constants of.
pinned()
{
	cat >one.c <<-'END'
		#include <stdio.h>
		int flag, level = 3;
		static long local = 5;
		struct { int a, b; } both;
		int work(int);
		__attribute__((noinline)) static int look(int n) { int s = 0; while (n--) s += n * level ^ flag; return s; }
		int main(int argc, char **argv)
		{
			flag = argc > 1;
			local += argc;
			both.a = argc;
			printf("%d %d %ld %d\n", look(100), work(7), local, both.a + both.b);
			return 0;
		}
	END
	cat >two.c <<-'END'
		extern int flag, level;
		static int local;
		int work(int n) { for (int i = 0; i < n; i++) local += flag ? n * i : level; return local; }
	END
	clang-19 -O2 one.c two.c -o pinned.plain
	"$HALO_CC" -O2 "$1" -fuse-ld=lld one.c two.c -o pinned
	./pinned >a
	./pinned.plain | cmp - a
	objcopy --dump-section .halo.var=dump pinned /dev/null
	od -An -v -t u8 -w32 dump | awk '{ print $2 }' | sort >sizes
	[ "$(tr '\n' ' ' <sizes)" = "4 4 4 8 8 " ]
}
check "variables keep their layout, -flto" pinned -flto
check "variables keep their layout, -flto=thin" pinned -flto=thin

twins()
{
	mkdir -p x y
	printf 'static int n = %d;\n__attribute__((noinline)) int f%d(int x) { for (int i = 0; i < x; i++) n = n * 3 ^ i; return n; }\n' \
		1 1 >x/t.c
	sed 's/f1/f2/' x/t.c >y/t.c
	printf '#include <stdio.h>\nint f1(int), f2(int);\nint main(void) { printf("%%d %%d\\n", f1(9), f2(8)); }\n' >m.c
	"$HALO_CC" -O2 "$1" -fuse-ld=lld m.c x/t.c y/t.c -o twins
	clang-19 -O2 m.c x/t.c y/t.c -o twins.plain
	./twins >a
	./twins.plain | cmp - a
	has_slots twins 2
	(($(rows twins .halo.var | wc -l) == 2))
}
check "two units with the same static names, -flto" twins -flto
check "two units with the same static names, -flto=thin" twins -flto=thin

library()
{
	"$HALO_CC" -O2 "$1" -fPIC -fuse-ld=lld -shared "$calls/calls3.c" -o lib3.so
	"$HALO_CC" -O2 "$1" "$calls/calls.c" "$calls/calls2.c" -fuse-ld=lld -L. -l3 -Wl,-rpath,. -o user
	./user | cmp - plain.out
	readelf -SW lib3.so | grep '\.halo\.func' >found
	"$HALO_CC" -O2 "$1" -fuse-ld=lld -r "$calls"/calls.c "$calls"/calls[23].c -o all.o
	"$HALO_CC" all.o -o all
	./all | cmp - plain.out
	has_slots all 5
}
check "-shared and -r, -flto" library -flto
check "-shared and -r, -flto=thin" library -flto=thin

cached()
{
	rm -rf cache
	for _ in 1 2; do
		"$HALO_CC" -O2 -flto=thin -fuse-ld=lld -Wl,--thinlto-cache-dir=cache "$calls"/calls*.c -o cached
		has_slots cached 5
	done
	# Not what a plain build left.
	clang-19 -O2 -flto=thin -fuse-ld=lld -Wl,--thinlto-cache-dir=cache "$calls"/calls*.c -o uncached
	./uncached | cmp - plain.out
	readelf -SW uncached >sections
	no grep '\.halo\.' sections
}
check "a cache of thin links" cached

without_entries()
{
	HALO_VERBOSE=1 "$HALO_CC" -O2 -flto $1 "$calls"/calls*.c -o lto 2>why
	grep -q "$2" why
	(($(wc -l <why) == 1))
	./lto | cmp - plain.out
	"$HALO_BPF" inspect lto >inspected
	grep -q 'of which 0 can be redirected' inspected
}
if [ -e /usr/lib/llvm-19/lib/LLVMgold.so ]; then
	check "GNU ld makes no entries, and halo-cc says so" without_entries -fuse-ld=bfd 'by lld only'
else
	tap_skip "GNU ld makes no entries, and halo-cc says so" "there is no LLVMgold.so"
fi
check "nor does lld when it splits the code" without_entries \
	"-fuse-ld=lld -Wl,--lto-partitions=2" 'splits code'

# 0.1 * 10 - 1 is 0 if rounded twice, as units do that are compiled apart, and variants of them; a plain link
# folds it to 2^-54.
folded()
{
	cat >one.c <<-'END'
		double step(double a, double b, double c) { return a * b + c; }
	END
	cat >two.c <<-'END'
		#include <stdio.h>
		double step(double a, double b, double c);
		__attribute__((noinline)) double constant(int n)
		{
			double sum = n;
			for (int i = 0; i < n; i++)
				sum = (sum + step(0.1, 10, -1)) * (1 + 1e-17 * (i & 3) + (i ^ n) % 7 * 0.25);
			return sum / (n + 1e300);
		}
		__attribute__((noinline)) double variable(int n)
		{
			double sum = 0;
			for (int i = 0; i < n; i++)
				sum += step(0.1, 10 + i % 3, -1 - i % 5 * 0.125) / (i + 1) * ((i ^ n) % 9);
			return sum;
		}
		int main(void)
		{
			for (int i = 0; i < 1000000; i++)
				if (i % 250000 == 0)
					printf("%a %a %a\n", constant(0) + step(0.1, 10, -1), variable(i % 1000), constant(i % 50));
				else
					variable(i & 127);
			return 0;
		}
	END
	clang-19 -O2 "$1" -fuse-ld=lld one.c two.c -o folded.plain
	./folded.plain >folded.out
	grep -q 'p-5[0-9] ' folded.out
	clang-19 -O2 one.c two.c -o folded.plain
	"$HALO_CC" -O2 "$1" -fuse-ld=lld one.c two.c -o folded
	./folded.plain >folded.out
	./folded | cmp - folded.out
	[ "$(id -u)" -eq 0 ] || return 0
	"$HALO_BPF" torture -j --hold --seed 1 --report report ./folded >a
	cmp a folded.out
	cat report
	[ "$(jq '.compiled >= 1 and .entered.variant > 0' report)" = true ]
}
check "what a link folds is rounded as its units round it, -flto" folded -flto
check "what a link folds is rounded as its units round it, -flto=thin" folded -flto=thin

# What was put into its callers has no code of its own any more, but its bitcode.
switched()
{
	"$HALO_CC" -O2 "$1" -fuse-ld=lld "$src"/*.c -o hot
	nm hot >symbols
	[ "$1" = -flto=thin ] || no grep -q ' step$' symbols
	clang-19 -O2 "$src"/*.c -o hot.plain
	"$HALO_BPF" torture -j --hold --seed 1 --report report ./hot >a
	./hot.plain | cmp - a
	cat report
	[ "$(jq '.compiled' report)" = 1 ]
	[ "$(jq '.entered.variant > 0' report)" = true ]
}
if [ "$(id -u)" -eq 0 ]; then
	check "a function of another unit is part of a variant, -flto" switched -flto
	check "a function of another unit is part of a variant, -flto=thin" switched -flto=thin
else
	tap_skip "a function of another unit is part of a variant" "needs root"
fi

tap_done
