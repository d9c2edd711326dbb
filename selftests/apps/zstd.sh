# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# zstd: compresses C source at level 9, in one thread.

app_fetch() {
	fetch__source libzstd
}

app_build() {
	local dir flags
	dir=$(src libzstd)
	flags="$3 -I$dir/lib -I$dir/lib/common -DXXH_NAMESPACE=ZSTD_ -DZSTD_DISABLE_ASM"

	compile "$1" "$flags" "$4" "$dir"/lib/{common,compress,decompress,dictBuilder}/*.c \
		"$dir"/programs/*.c
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
