# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Builds of the project with clang and with halo-cc, and what must be true of both; behind prepared.sh,
# in a folder to work in.

# copy SYSTEM NAME: a tree of its own to build in
copy()
{
	mkdir -p "$1.$2"
	cp -r "$src/$1"/. "$src/src" "$1.$2"
	[ "$1" = autotools ] && mv "$1.$2/src" "$1.$2/src.new" && mv "$1.$2/src.new" "$1.$2/src"
	return 0
}

prepared()
{
	local file
	for file in "$@"; do
		echo "$file"
		"$HALO_BPF" inspect -j "$file" >inspected
		jq -e '.build_id != "" and .stub and .redirectable > 0' inspected
	done
}

prepared_library()
{
	readelf -SW "$1" >sections
	grep '\.halo\.func' sections
	grep '\.halo\.bc' sections
}

# The same input, the same output, from a build with plain clang and one with halo-cc.
same_output()
{
	seq 1 3000 | sed 's/00$/ & !/; s/3/3 /g' >input
	"$1" <input >a
	"$2" <input >b
	[ -s a ]
	cmp a b
}

# compilers NAME: sets cc and cxx
compilers()
{
	cc=clang-19 cxx=clang++-19
	[ "$1" = plain ] || cc=$HALO_CC cxx=$HALO_CXX
}
