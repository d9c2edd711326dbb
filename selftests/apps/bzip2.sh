# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# bzip2: compresses C source; no compiler setting is known to speed it up.

app_fetch() {
	fetch__source bzip2
}

app_build() {
	compile "$1" "$3 -D_FILE_OFFSET_BITS=64" "$4" \
		"$(src bzip2)"/{blocksort,huffman,crctable,randtable,compress,decompress,bzlib,bzip2}.c
	link "$1" "$3" "$4" "$5"
}

app_input() {
	corpus "$1/corpus"
}

app_run() {
	"$1" -9 -c <"$2/corpus"
}

app_loop() {
	exec "$1" -9 -c < <(endless "$2/corpus") >/dev/null
}
