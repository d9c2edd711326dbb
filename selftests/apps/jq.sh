# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# jq: a filter over a stream of small objects.

app_fetch() {
	fetch__source jq prepare_jq
}

# What jq's makefile would generate.
prepare_jq() {
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/\\n"/' src/builtin.jq >src/builtin.inc
	echo '#define JQ_VERSION "1.6"' >src/version.h
}

app_build() {
	local dir files
	dir=$(src jq)
	mapfile -t files < <(find "$dir/src" -name '*.c' ! -name inject_errors.c | sort)

	compile "$1" "$3 -I$dir -D_GNU_SOURCE -DIEEE_8087 -pthread" "$4" "${files[@]}"
	link "$1" "$3" "$4" "$5" -lm -pthread
}

filter='{id, name: (.name | ascii_downcase | split(" ")), tags: (.tags | unique),
	total: ([.items[] | .price * .count] | add), dear: [.items[] | select(.price > 250) | .count]}'

app_input() {
	once "$1/objects.json" generate json 30000
}

app_run() {
	"$1" -c "$filter" "$2/objects.json"
}

app_loop() {
	exec "$1" -c "$filter" < <(endless "$2/objects.json") >/dev/null
}
