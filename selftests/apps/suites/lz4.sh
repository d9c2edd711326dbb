# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # suite.sh reads suite_packages
# lz4's tests: its command line, and its fuzzers with seeds of their own.

suite_fetch() {
	fetch__source lz4
}

suite_build() {
	copy lz4
	quiet build.log make -C lib CC="$1" liblz4.a
	quiet build.log make -C programs CC="$1" lz4 unlz4 lz4cat
	quiet build.log make -C tests CC="$1" DEBUGLEVEL=0 datagen fuzzer frametest
}

suite_parts() {
	echo commands programs/lz4
	echo fuzzer tests/fuzzer
	echo frames tests/frametest
}

suite_run() {
	case $1 in
	commands) quiet commands.log make -s -C tests test-lz4-essentials ;;
	fuzzer) quiet fuzzer.log tests/fuzzer -s1 -t1 -i300 ;;
	frames) quiet frames.log tests/frametest -s1 -t1 -i300 ;;
	esac
	echo passed
}
