# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # app.sh reads app_packages
# SQLite and its own speed test, on a database in memory.

app_packages=(tcl)

app_fetch() {
	fetch__source sqlite3 prepare_sqlite
}

# The amalgamation, sqlite3.c.
prepare_sqlite() {
	mkdir amalgamation
	cd amalgamation || return
	CC=clang-19 ../configure --disable-tcl
	make sqlite3.c
}

app_build() {
	local dir flags
	dir=$(src sqlite3)
	flags="$3 -I$dir/amalgamation -I$dir/test -DSQLITE_THREADSAFE=0"
	flags+=" -DSQLITE_OMIT_LOAD_EXTENSION"

	compile "$1" "$flags" "$4" "$dir/amalgamation/sqlite3.c" "$HERE/sqlite_main.c"
	link "$1" "$3" "$4" "$5" -lm
}

# The test prints how long each step took; what is left are its steps and a hash of all results.
app_run() {
	"$1" --memdb --size 20 --verify | sed -E 's/[ .]+[0-9]+\.[0-9]{3}s//'
}

app_loop() {
	exec "$1" loop --memdb --size 20 >/dev/null
}
