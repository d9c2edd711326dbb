# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced: builds the cases of this folder, plainly as $WORK/NAME.plain and prepared as $WORK/NAME.
#
#	build NAME FLAGS LINK_FLAGS
#
# A NAME that begins with "cxx" has the C++ cases, others those in C. NAME.lib.c goes into an archive,
# and NAME.plain.cc is compiled without halo-cc.

# compile_all CC CXX OUT PATTERN FLAGS
compile_all() {
	local cc=$1 cxx=$2 out=$3 pattern=$4 file object
	local flags="-D_GNU_SOURCE -Wno-psabi -I$SOURCES $5"
	mkdir -p "$out"
	for file in "$SOURCES"/$pattern; do
		object=$out/$(basename "$file").o
		# shellcheck disable=SC2086 # lists of flags
		case $file in
		*/sem.c) clang-19 $flags -O1 -c "$file" -o "$object" ;;
		*.plain.c) clang-19 $flags -c "$file" -o "$object" ;;
		*.plain.cc) clang++-19 $flags -c "$file" -o "$object" ;;
		*.c) $cc $flags -c "$file" -o "$object" ;;
		*.cc) $cxx $flags -c "$file" -o "$object" ;;
		esac
	done
}

# link_all DRIVER OUT OBJECTS FLAGS
link_all() {
	local archive=() libs
	libs=("$3"/*.lib.c.o)
	if [ -e "${libs[0]}" ]; then
		rm -f "$3/libarchive.a"
		ar rcs "$3/libarchive.a" "$3"/*.lib.c.o
		rm "$3"/*.lib.c.o
		archive=("$3/libarchive.a")
	fi
	# shellcheck disable=SC2086 # a list of flags
	$1 $4 "$3"/*.o "${archive[@]}" -lm -pthread -o "$2"
}

# build_with CC CXX OUT NAME FLAGS LINK_FLAGS
build_with() {
	local cc=$1 cxx=$2 out=$3 pattern='*.c' driver=$1
	if [[ $4 = cxx* ]]; then
		pattern='*.cc' driver=$2
		compile_all "$cc" "$cxx" "$out.o" sem.c "$5"
	fi
	compile_all "$cc" "$cxx" "$out.o" "$pattern" "$5"
	link_all "$driver" "$out" "$out.o" "$5 $6"
}

build() {
	build_with clang-19 clang++-19 "$WORK/$1.plain" "$@"
	build_with "$HALO_CC" "$HALO_CXX" "$WORK/$1" "$@"
}
