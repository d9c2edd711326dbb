#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One project under plain make, CMake and Meson, none of which knows of halo-cc but by CC and CXX: it is
# configured as with clang, passes its own tests, and is prepared.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../prepared.sh"
. "$(dirname "$0")/project/lib.sh"

src=$SELFTESTS_DIR/build/project
need_built "$HALO_BPF" "$HALO_CC" "$HALO_CXX" "$BUILD_DIR/halo-prepare.so"
work_dir
cd "$WORK"
unset MAKEFLAGS MFLAGS CFLAGS CXXFLAGS CPPFLAGS LDFLAGS
export HALO_VERBOSE=

build_make()
{
	local cc cxx name=$1
	shift
	compilers "$name"
	make -s -j3 -C "make.$name" CC="$cc" CXX="$cxx" "$@"
	make -s -C "make.$name" CC="$cc" CXX="$cxx" "$@" check
}

plain_make()
{
	copy make plain
	copy make halo
	build_make plain
	build_make halo
	prepared make.halo/words make.halo/words-shared
	prepared_library make.halo/libcrc.so
	same_output make.plain/words make.halo/words
	same_output make.plain/words-shared make.halo/words-shared
	cmp make.plain/symbols make.halo/symbols
	# Dependencies are the same, so nothing is made twice, and a header's users are made again.
	(cd make.plain && tail -n +1 .*.d) >a
	(cd make.halo && tail -n +1 .*.d) >b
	cmp a b
	make -q -C make.halo CC="$HALO_CC" CXX="$HALO_CXX"
	touch make.halo/src/crc.h
	no make -q -C make.halo CC="$HALO_CC" CXX="$HALO_CXX"
}
check "make: static and shared, make check" plain_make

llvm_tools()
{
	local flags
	for flags in -O2 "-O2 -flto -fuse-ld=lld"; do
		make -s -C make.halo clean
		build_make halo AR=llvm-ar-19 RANLIB=llvm-ranlib-19 NM=llvm-nm-19 CFLAGS="$flags"
		prepared make.halo/words
		same_output make.plain/words make.halo/words
		cmp make.plain/symbols make.halo/symbols
	done
}
check "make: llvm's ar, ranlib, nm; with -flto too" llvm_tools

cmake_build()
{
	local name cc cxx
	for name in plain halo; do
		compilers $name
		copy cmake $name
		cmake -S "cmake.$name" -B "cmake.$name/b" -DCMAKE_C_COMPILER="$cc" \
			-DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=RelWithDebInfo "$@" >"cmake.$name.log"
		cmake --build "cmake.$name/b" -j3 >"cmake.$name.log"
		(cd "cmake.$name/b" && ctest) >ctest.log
		grep '100% tests passed' ctest.log
		DESTDIR=$PWD/cmake.$name/root cmake --install "cmake.$name/b" --prefix /usr >"cmake.$name.log"
	done
	diff cmake.plain/b/found cmake.halo/b/found
	prepared cmake.halo/root/usr/bin/words cmake.halo/root/usr/bin/words_shared
	prepared_library cmake.halo/root/usr/lib/*/libcrc_shared.so ||
		prepared_library cmake.halo/root/usr/lib/libcrc_shared.so
	# Installing rewrites the run path, in place.
	readelf -d cmake.halo/root/usr/bin/words_shared >dynamic
	grep 'ORIGIN/../lib' dynamic
	same_output cmake.plain/root/usr/bin/words cmake.halo/root/usr/bin/words
	same_output cmake.plain/root/usr/bin/words_shared cmake.halo/root/usr/bin/words_shared
	rm -r cmake.plain cmake.halo
}
if command -v cmake >found; then
	check "CMake: try_compile, run path, ctest, install" cmake_build
	check "CMake: interprocedural optimization" cmake_build -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON \
		-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld -DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=lld
else
	tap_skip "CMake" "cmake is not installed"
fi

meson_build()
{
	local name cc cxx
	for name in plain halo; do
		compilers $name
		copy meson $name
		CC=$cc CXX=$cxx meson setup "meson.$name/b" "meson.$name" "$@" >meson.log
		ninja -C "meson.$name/b" >meson.log
		meson test -C "meson.$name/b" >meson.log
		DESTDIR=$PWD/meson.$name/root meson install -C "meson.$name/b" >meson.log
	done
	diff meson.plain/b/found meson.halo/b/found
	prepared meson.halo/root/usr/local/bin/words meson.halo/root/usr/local/bin/words_shared
	same_output meson.plain/b/words meson.halo/b/words
	same_output meson.plain/b/words_shared meson.halo/b/words_shared
	rm -r meson.plain meson.halo
}
if command -v meson ninja >found; then
	check "Meson: setup, test, install" meson_build --buildtype=release
	check "Meson: sanitizers" meson_build -Db_sanitize=address,undefined -Db_lundef=false
else
	tap_skip "Meson" "meson or ninja is not installed"
fi

tap_done
