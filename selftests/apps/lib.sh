# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by app.sh and suite.sh: what the recipes have in common.

src() {
	echo "$APPS/src/$1"
}

# compile COMPILER FLAGS OBJECTS FILE…: one object per file into the folder OBJECTS.
compile() {
	local compiler=$1 flags=$2 objects=$3
	shift 3
	mkdir -p "$objects"
	# shellcheck disable=SC2016 # for the inner shell, which splits compiler and flags
	printf '%s\n' "$@" | compiler=$compiler flags=$flags objects=$objects xargs -P 2 -I{} sh -c \
		'$compiler $flags -w -c "$1" -o "$objects/$(echo "${1#"$APPS"/src/}" | tr / -).o"' - {}
}

# link COMPILER FLAGS OBJECTS EXE [LIBRARY…]
link() {
	local compiler=$1 flags=$2 objects=$3 exe=$4
	shift 4
	# shellcheck disable=SC2086 # a compiler with flags, and flags
	$compiler $flags "$objects"/*.o -o "$exe" "$@"
}

# once FILE COMMAND…: make FILE from what COMMAND prints, unless it is there.
once() {
	local file=$1
	shift
	[ -e "$file" ] && return
	"$@" >"$file.new"
	mv "$file.new" "$file"
}

# The same data for all that compress: C source.
corpus() {
	fetch__source sqlite3
	once "$1" find "$(src sqlite3)/src" "$(src sqlite3)/ext" -name '*.[ch]' -size -300k -exec cat {} +
}

# generate KIND SIZE: see generate.c.
generate() {
	[ "$APPS/generate" -nt "$HERE/generate.c" ] ||
		gcc -std=gnu11 -O2 -Wall "$HERE/generate.c" -o "$APPS/generate" -lm
	"$APPS/generate" "$@"
}

# endless FILE [SKIP]: FILE for ever, with a line on standard error after each time it was taken;
# from the second time on without its first SKIP bytes.
endless() {
	local passes=0 from=1

	while tail -c "+$from" "$1"; do
		passes=$((passes + 1))
		from=$((${2:-0} + 1))
		echo "work $passes" >&2
	done
}

# install_packages PACKAGE…: those that are missing.
install_packages() {
	local package missing=()

	for package in "$@"; do
		dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
			missing+=("$package")
	done
	[ ${#missing[@]} -eq 0 ] && return
	DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
		"${missing[@]}" >/dev/null
}

# copy PACKAGE: its source, to be built in the working directory.
copy() {
	cp -a "$(src "$1")/." .
}

# quiet LOG COMMAND…: what it prints is wanted only when it fails.
quiet() {
	local log=$1
	shift
	"$@" >"$log" 2>&1 && return
	tail -20 "$log" >&2
	return 1
}
