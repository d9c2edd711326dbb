# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # suite.sh reads suite_packages
# jq's tests: hundreds of filters in one process, and a script that starts jq as often.

suite_fetch() {
	. "$HERE/jq.sh"
	app_fetch
}

# All that configure would find in glibc.
found() {
	sed -n 's/^#if\(def\| defined(\)\? *\(HAVE_[A-Z0-9_]*\).*/-D\2/p' "$(src jq)"/src/{libm.h,builtin.c} | sort -u |
		grep -vxE -- '-DHAVE_(ONIGURUMA|LIBONIG|POW10|PTHREAD|ALLOCA_H|TM___TM_GMT_OFF)'
}

suite_build() {
	. "$HERE/jq.sh"
	quiet build.log app_build "$1" "$2" "-O2 $(found | tr '\n' ' ')" "$3/o" "$3/jq"
	cp -a "$(src jq)/tests" .
}

suite_parts() {
	echo filters jq
	echo shell jq
}

suite_run() {
	export NO_VALGRIND=1
	case $1 in
	filters)
		tests/jqtest
		tests/base64test
		tests/utf8test
		;;
	shell) tests/shtest ;;
	esac
}
