#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The project of projects.sh under autoconf, automake and libtool, whose configure asks the compiler much.
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

autotools()
{
	local name cc cxx
	copy autotools base
	(cd autotools.base && autoreconf -fi) >autoreconf.log 2>&1 || { cat autoreconf.log; return 1; }
	for name in plain halo; do
		compilers $name
		mkdir -p "autotools.$name"
		(
			cd "autotools.$name"
			../autotools.base/configure CC="$cc" CXX="$cxx" --prefix=/usr >configure.log
			make -s -j3 V=0 >make.log
			make -s check >check.log
			make -s install DESTDIR="$PWD/root" >install.log 2>&1
		)
	done
	cmp autotools.plain/config.h autotools.halo/config.h
	# All answers, but for where this is and who compiles.
	grep -Ev 'halo|clang|^configure:|/autotools\.' autotools.plain/configure.log >a
	grep -Ev 'halo|clang|^configure:|/autotools\.' autotools.halo/configure.log >b
	diff a b
	grep '# PASS:  1' autotools.halo/check.log
	prepared autotools.halo/root/usr/bin/words
	prepared_library autotools.halo/root/usr/lib/libcrc.so
	LD_LIBRARY_PATH=autotools.halo/root/usr/lib same_output autotools.plain/words \
		autotools.halo/root/usr/bin/words
	make -s -C autotools.halo clean
	make -s -C autotools.halo -j3 CFLAGS='-O1 -pipe' LDFLAGS='-all-static' words >make.log
	prepared autotools.halo/words
	file=$(readelf -lW autotools.halo/words)
	no grep -q INTERP <<<"$file"
	same_output autotools.plain/words autotools.halo/words
}
if command -v autoreconf libtoolize automake >found; then
	check "autotools and libtool: configure, make check, make install" autotools
else
	tap_skip "autotools and libtool" "autoconf, automake or libtool is not installed"
fi

tap_done
