#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What can't be prepared is compiled as if halo-cc were not there, and HALO_VERBOSE=1 says why, in one line.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../prepared.sh"
need_built "$HALO_BPF" "$HALO_CC" "$HALO_CXX" "$BUILD_DIR/halo-prepare.so"
work_dir
cd "$WORK"

cat >work.c <<'END'
int work(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i * n ^ sum >> 3; return sum; }
END
cat >main.c <<'END'
#include <stdio.h>
int work(int);
int main(void) { printf("%d\n", work(100)); return 0; }
END
clang-19 -O2 work.c main.c -o plain
./plain >expected
clang-19 -O2 -S work.c -o work.s
cp work.s preprocessed.S
cp work.s odd.name
clang-19 -O2 -c main.c -o main.o
printf 'INSERT AFTER .data;\n' >own.lds
clang-19 -Wl,--verbose -fuse-ld=bfd main.c work.c -o script 2>/dev/null | sed '1,/^====/d; /^====/,$d' >own.lds

# plainly WANTED OPTIONS… FILES…: one line, which says so, and none without HALO_VERBOSE=1
plainly()
{
	local wanted=$1 off
	shift
	HALO_VERBOSE=1 "$HALO_CC" "$@" 2>said
	cat said
	grep -v 'clang-19: warning' said >lines
	(($(wc -l <lines) == 1))
	grep -q "^halo-cc: .*$wanted" lines
	for off in "" 0; do
		HALO_VERBOSE=$off "$HALO_CC" "$@" 2>said
		no grep halo said
	done
}

# as_plain WANTED OPTIONS… FILES…: and the object has nothing of ours, and does what it should
as_plain()
{
	plainly "$@" -O2 -c -o made.o
	readelf -SW made.o >sections
	no grep halo sections
	clang-19 main.o made.o -o made
	./made | cmp - expected
}
check "assembly: .s" as_plain 'work.s is assembly' work.s
check "assembly: .S" as_plain 'preprocessed.S is assembly' preprocessed.S
check "assembly: -x assembler" as_plain 'odd.name is assembly' -x assembler odd.name
check "options of gcc alone" as_plain 'gcc compiles it' -fno-ipa-ra -fconserve-stack work.c
check "code that runs before it is relocated" as_plain 'freestanding' -ffreestanding work.c
check "a code model out of reach" as_plain 'code model' -mcmodel=large -fno-pic work.c

# without_tables WANTED OPTIONS…: a whole program
without_tables()
{
	plainly "$@" work.c main.c -o whole
	./whole | cmp - expected
	readelf -SW whole >sections
	no grep '\.halo\.func' sections
}
check "thread sanitizer" without_tables 'sanitizer' -fsanitize=thread
check "memory sanitizer" without_tables 'sanitizer' -fsanitize=memory
check "control-flow integrity" without_tables 'sanitizer' -fsanitize=cfi -flto -fvisibility=hidden -fuse-ld=lld

# What each unit says, and then the link.
every_unit()
{
	HALO_VERBOSE=1 "$HALO_CC" "$1" work.c main.c -o whole 2>said
	cat said
	(($(grep -c "is not prepared: $2" said) == 2 && $(wc -l <said) == 3))
	./whole | cmp - expected
	HALO_VERBOSE='' "$HALO_CC" "$1" work.c main.c -o whole 2>said
	[ ! -s said ]
}
check "coverage" every_unit --coverage 'counts'
check "counts of a profile" every_unit -fprofile-instr-generate 'counts'

another_target()
{
	plainly 'not for 64-bit x86' -m32 -ffreestanding -c work.c -o 32.o
	readelf -h 32.o | grep ELF32
	plainly 'not for 64-bit x86' --target=aarch64-linux-gnu -c work.c -o arm.o
	readelf -h arm.o | grep AArch64
}
check "other targets" another_target

intermediate()
{
	plainly 'LLVM IR' -O1 -S -emit-llvm work.c -o work.ll
	no grep halo work.ll
}
check "LLVM IR" intermediate

# without_stub WANTED OPTIONS…: its units carry tables, the program no stub
without_stub()
{
	plainly "$@" work.c main.c -o whole
	./whole | cmp - expected
	"$HALO_BPF" inspect -j whole | jq -e '.stub | not'
}
check "a linker script of the program's own" without_stub 'script of its own' -fuse-ld=bfd -Wl,-T,own.lds
check "no start files" without_stub "start files" -nostartfiles -no-pie /usr/lib/x86_64-linux-gnu/crt[1i].o \
	/usr/lib/x86_64-linux-gnu/crtn.o

# A configure script that asks for such an option is told what clang says.
probes()
{
	local probe
	mkdir -p CMakeFiles/CMakeScratch meson-private
	for probe in conftest.c CMakeFiles/CMakeScratch/src.c meson-private/testfile.c; do
		cp work.c "$probe"
		no "$HALO_CC" -fconserve-stack -c "$probe" -o probe.o 2>error
		grep 'unknown argument' error
	done
	no "$HALO_CC" -fno-such-option-anywhere -c work.c -o probe.o 2>error
	grep 'unknown argument' error
	(($(wc -l <error) == 1))
}
check "what configure scripts ask is answered by clang" probes

# gcc links what it compiled, and the stub with it.
gcc_program()
{
	cat >work.cc <<-END
		extern "C" int work(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i * n ^ sum >> 3; return sum; }
	END
	HALO_VERBOSE=1 "$HALO_CXX" -fconserve-stack -c work.cc -o cxx.o 2>said
	grep -q 'gcc compiles it' said
	"$HALO_CC" -O2 -c main.c -o prepared.o
	"$HALO_CC" -fconserve-stack prepared.o cxx.o -o whole
	./whole | cmp - expected
	"$HALO_BPF" inspect -j whole | jq -e '.stub and (.units | length) == 1'
}
check "options of gcc alone: C++, and at the link" gcc_program

# A link may have nothing but libraries, or be a question.
libraries_only()
{
	"$HALO_CC" -O2 -fPIC -c work.c -o work.o
	rm -f libwork.a
	ar rcs libwork.a work.o
	"$HALO_CC" -shared -Wl,--whole-archive -L. -lwork -Wl,--no-whole-archive -o libmade.so
	"$HALO_BPF" inspect -j libmade.so | jq -e '.stub and (.functions | length) == 1'
	"$HALO_CC" -Wl,--version work.o >version
	grep -i 'gnu ld' version
}
check "a library made of archives alone; a linker's version" libraries_only

tap_done
