# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# lz4: compresses C source at level 9.

app_fetch() {
	fetch__source lz4
}

app_build() {
	local dir
	dir=$(src lz4)

	compile "$1" "$3 -I$dir/lib -DXXH_NAMESPACE=LZ4_" "$4" "$dir"/{lib,programs}/*.c
	link "$1" "$3" "$4" "$5"
}

app_input() {
	corpus "$1/corpus"
}

app_run() {
	"$1" -9 -q -c <"$2/corpus"
}

app_loop() {
	exec "$1" -9 -q -c < <(endless "$2/corpus") >/dev/null
}
