# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # app.sh reads app_packages
# MiniSat: decides random formulas; no compiler setting is known to speed it up.

app_packages=(zlib1g-dev)

app_fetch() {
	fetch__source minisat2 prepare_minisat
}

# Its table comes line by line, into a pipe too.
prepare_minisat() {
	sed -i '0,/setUsageHelp(/s//setlinebuf(stdout);\n        &/' minisat/core/Main.cc
}

app_build() {
	local dir flags
	dir=$(src minisat2)
	flags="$3 -I$dir -I$dir/minisat -D__STDC_LIMIT_MACROS -D__STDC_FORMAT_MACROS"
	flags+=" -Wno-reserved-user-defined-literal"

	compile "$2" "$flags" "$4" \
		"$dir"/minisat/core/{Main,Solver}.cc "$dir"/minisat/utils/{Options,System}.cc
	link "$2" "$3" "$4" "$5" -lz
}

# A formula for a second and one that is not decided within a day.
app_input() {
	once "$1/small.cnf" generate formula 280
	once "$1/large.cnf" generate formula 600
}

# Exit code 10 or 20 is an answer. The path of the search is compared, not the time it took.
app_run() {
	"$1" -verb=1 "$2/small.cnf" >"$2/out" || [ $? -ge 10 ]
	sed -nE 's/^((restarts|conflicts|decisions|propagations) *: [0-9]+).*/\1/p; /SATISF/p' "$2/out"
}

# The table on standard output has a line for each round of conflicts.
app_loop() {
	exec "$1" -verb=1 "$2/large.cnf" > >(sed -unE 's/^\| +([0-9]+) .*%.*/work \1/p' >&2)
}
