#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Test suites of real programs: their own, or, where they have none, requests whose answers are
# compared. suites/NAME.sh says how; sources and builds are kept under build/apps/.
set -euo pipefail

usage() {
	cat <<'END'
Usage: suite.sh list                     all suites
       suite.sh fetch NAME
       suite.sh build NAME CC CXX DIR    builds program and tests in DIR, unless they are there
       suite.sh parts NAME               one line per part: its name, and the program that it tests
       suite.sh run NAME DIR PART        prints what has to be the same in every run that succeeds
END
}

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BUILD=${BUILD:-$HERE/../../build}
mkdir -p "$BUILD/apps/src" "$BUILD/apps/input"
APPS=$(cd "$BUILD/apps" && pwd)
export HERE APPS BUILD LC_ALL=C

. "$HERE/fetch.sh"
. "$HERE/lib.sh"

# A suite defines
#   suite_packages           packages that building or running takes (optional)
#   suite_fetch              sources into $APPS/src
#   suite_build CC CXX DIR   everything that running takes, in DIR, which is empty
#   suite_parts              as above; programs are relative to DIR
#   suite_run PART           in a copy-free DIR, which is the working directory
load() {
	if [[ $1 = */* ]] || [ ! -e "$HERE/suites/$1.sh" ]; then
		echo "Error: no suite '$1'" >&2
		exit 2
	fi
	suite_packages=()
	# shellcheck source=/dev/null
	. "$HERE/suites/$1.sh"
}

fetch() {
	load "$1"
	install_packages "${suite_packages[@]}"
	suite_fetch
}

# Several tests may want the same build.
build() {
	local dir=$4
	mkdir -p "$(dirname "$dir")"
	exec 7>"$dir.lock"
	flock 7
	[ -e "$dir/.built" ] && return
	fetch "$1"
	rm -rf "$dir"
	mkdir -p "$dir"
	dir=$(cd "$dir" && pwd)
	(cd "$dir" && suite_build "$2" "$3" "$dir") 7>&-
	touch "$dir/.built"
}

run() {
	load "$1"
	cd "$2"
	suite_run "$3"
}

case "${1-}:$#" in
list:1) basename -s .sh "$HERE"/suites/*.sh ;;
fetch:2) fetch "$2" ;;
build:5) build "$2" "$3" "$4" "$5" ;;
parts:2) load "$2" && suite_parts ;;
run:4) run "$2" "$3" "$4" ;;
*) usage >&2; exit 2 ;;
esac
