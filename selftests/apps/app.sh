#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Real programs for tests and benchmarks, fetched as source and built with a given compiler.
# A recipe, NAME.sh, says how; everything is kept under build/apps/.
set -euo pipefail

usage() {
	cat <<'END'
Usage: app.sh list
       app.sh fetch NAME…
       app.sh build NAME CC CXX CFLAGS OUTDIR   builds OUTDIR/NAME and prints its path
       app.sh run NAME EXE                      one run, deterministic output
       app.sh loop NAME EXE                     becomes the program, which works until it is killed;
                                                "work N" lines on standard error count what it did
END
}

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BUILD=${BUILD:-$HERE/../../build}
mkdir -p "$BUILD/apps/src" "$BUILD/apps/input"
APPS=$(cd "$BUILD/apps" && pwd)
export HERE APPS LC_ALL=C

. "$HERE/fetch.sh"
. "$HERE/lib.sh"

# In the order in which they show most: headroom first, then those that nothing speeds up.
all=(sqlite lua redis jq vorbis zstd lz4 bzip2 mawk minisat)

# A recipe defines
#   app_packages               packages that building or running takes (optional)
#   app_fetch                  sources into $APPS/src
#   app_build CC CXX CFLAGS OBJECTS EXE
#   app_input DIR              input files into DIR, unless there (optional)
#   app_run EXE DIR            the program's work, once; output to standard output
#   app_loop EXE DIR           the same, endlessly, in one process (by exec)
load() {
	if [ ! -e "$HERE/$1.sh" ] || [[ " ${all[*]} " != *" $1 "* ]]; then
		echo "Error: no recipe for '$1'" >&2
		echo "  remedy: one of ${all[*]}" >&2
		exit 2
	fi
	app_packages=()
	app_input() { :; }
	# shellcheck source=/dev/null
	. "$HERE/$1.sh"
}

fetch() {
	load "$1"
	install_packages "${app_packages[@]}"
	app_fetch
}

build() {
	local name=$1 out=$5

	fetch "$name"
	mkdir -p "$out"
	out=$(cd "$out" && pwd)
	rm -rf "$out/$name.o"
	app_build "$2" "$3" "$4" "$out/$name.o" "$out/$name"
	echo "$out/$name"
}

# run run|loop NAME EXE
run() {
	local verb=$1 name=$2 exe input=$APPS/input/$2

	exe=$(realpath "$3")
	load "$name"
	mkdir -p "$input"
	app_input "$input"
	"app_$verb" "$exe" "$input"
}

case "${1-}:$#" in
list:1) printf '%s\n' "${all[@]}" ;;
fetch:1) usage >&2; exit 2 ;;
fetch:*)
	shift
	for name in "$@"; do
		fetch "$name"
	done
	;;
build:6) build "$2" "$3" "$4" "$5" "$6" ;;
run:3 | loop:3) run "$@" ;;
*) usage >&2; exit 2 ;;
esac
