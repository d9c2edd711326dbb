# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # suite.sh reads suite_packages
# yaml-cpp's tests: C++ with templates, and exceptions for all that is wrong in a document.

suite_packages=(libgtest-dev libgmock-dev)

suite_fetch() {
	fetch__source yaml-cpp
}

suite_build() {
	local dir
	dir=$(src yaml-cpp)
	quiet build.log compile "$2" "-O2 -std=c++14 -I$dir/include -I$dir/src -I$dir/test -I$dir/test/integration" o \
		"$dir"/src/*.cpp "$dir"/test/*.cpp "$dir"/test/{node,integration}/*.cpp
	quiet build.log link "$2" -O2 o "$3/yaml-tests" -lgmock -lgtest -pthread
}

suite_parts() {
	echo tests yaml-tests
}

suite_run() {
	./yaml-tests --gtest_brief=0 --gtest_print_time=0
}
