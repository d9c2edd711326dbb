# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # suite.sh reads suite_packages
# zstd's tests: fuzzers with seeds of their own, and its command line.

suite_fetch() {
	fetch__source libzstd
}

suite_build() {
	copy libzstd
	quiet build.log make -C programs CC="$1" HAVE_LZMA=0 HAVE_LZ4=0 zstd
	quiet build.log make -C tests CC="$1" DEBUGLEVEL=0 datagen fuzzer zstreamtest
}

suite_parts() {
	echo fuzzer tests/fuzzer
	echo streams tests/zstreamtest
	echo commands programs/zstd
}

suite_run() {
	case $1 in
	fuzzer) quiet fuzzer.log tests/fuzzer -s1 -t1 -i20 --no-big-tests ;;
	streams) quiet streams.log tests/zstreamtest -s1 -t1 -i20 --no-big-tests ;;
	commands) quiet commands.log env ZSTD_BIN="$PWD/programs/zstd" DATAGEN_BIN="$PWD/tests/datagen" tests/playTests.sh ;;
	esac
	echo passed
}
