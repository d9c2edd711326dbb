# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # suite.sh reads suite_packages
# A part of Redis' tests: servers are started and spoken to by Tcl scripts.

suite_packages=(tcl redis-tools)

suite_fetch() {
	. "$HERE/redis.sh"
	app_fetch
}

suite_build() {
	. "$HERE/redis.sh"
	cp -a "$(src redis)"/{tests,runtest,redis.conf} .
	mkdir src
	quiet build.log app_build "$1" "$2" -O2 "$3/o" "$3/src/redis-server"
	ln -s redis-server src/redis-check-aof
	ln -s redis-server src/redis-check-rdb
	ln -s /usr/bin/redis-cli /usr/bin/redis-benchmark src
}

suite_parts() {
	echo types src/redis-server
	echo server src/redis-server
}

units() {
	local unit
	local args=()
	for unit in "$@"; do
		args+=(--single "$unit")
	done
	quiet runtest.log ./runtest --clients 2 --timeout 600 "${args[@]}"
	echo passed
}

suite_run() {
	case $1 in
	types) units unit/type/{string,incr,list,set,zset,hash} ;;
	server) units unit/{expire,scan,sort,multi,keyspace,scripting,bitops,hyperloglog,geo,dump,info,pubsub,protocol,quit} ;;
	esac
}
