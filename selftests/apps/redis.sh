# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # app.sh reads app_packages
# Redis: a server under redis-benchmark.

app_packages=(redis-tools)

app_fetch() {
	fetch__source redis prepare_redis
}

prepare_redis() {
	(cd src && ./mkreleasehdr.sh)
}

app_build() {
	local dir flags objects files
	dir=$(src redis)
	flags="$3 -std=gnu11 -I$dir/deps/hiredis -I$dir/deps/lua/src -I$dir/deps/hdr_histogram"
	flags+=" -DREDIS_STATIC= -DLUA_ANSI -DENABLE_CJSON_GLOBAL -DLUA_USE_MKSTEMP"
	flags+=' -DHDR_MALLOC_INCLUDE="hdr_redis_malloc.h"'
	objects=$(sed -n 's/^REDIS_SERVER_OBJ=//p' "$dir/src/Makefile")
	# shellcheck disable=SC2086 # a list of names
	mapfile -t files < <(printf "$dir/src/%s\n" ${objects//.o/.c}
		ls "$dir"/deps/hiredis/{alloc,async,hiredis,net,read,sds,sockcompat}.c \
			"$dir/deps/hdr_histogram/hdr_histogram.c"
		find "$dir/deps/lua/src" -name '*.c' ! -name lua.c ! -name luac.c ! -name print.c | sort)

	compile "$1" "$flags" "$4" "${files[@]}"
	link "$1" "$3" "$4" "$5" -rdynamic -lm -ldl -pthread
}

# serve EXE SOCKET: becomes a server that keeps nothing.
serve() {
	exec "$1" --port 0 --unixsocket "$2" --save '' --appendonly no --loglevel warning >&2
}

await() {
	# shellcheck disable=SC2016 # for the inner shell
	timeout 30 sh -c 'until redis-cli -s "$1" ping; do sleep 0.05; done' - "$1" >/dev/null 2>&1
}

app_run() (
	dir=$(mktemp -d)
	serve "$1" "$dir/socket" &
	server=$!
	trap 'kill "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
	await "$dir/socket"
	awk 'BEGIN {
		for (i = 0; i < 20000; i++) {
			print "SET key" i, i * i
			print "INCRBY sum", i
			print "RPUSH list", i % 1000
			print "ZADD scores", i * 7919 % 20011, "member" i
			print "HSET hash field" i % 100, i
			print "GETRANGE key" int(i / 2), "0 3"
		}
		print "LRANGE list 0 50"
		print "ZRANGE scores 0 50 WITHSCORES"
		print "EVAL \"local s = 0 for i = 1, 200000 do s = s + i % 7 end return s\" 0"
		print "DBSIZE"
	}' | redis-cli -s "$dir/socket"
	redis-cli -s "$dir/socket" shutdown nosave
	wait "$server"
)

app_loop() {
	local dir passes=0
	dir=$(mktemp -d)

	{
		await "$dir/socket"
		while redis-benchmark -s "$dir/socket" -q -P 48 -n 20000 \
			-t set,get,incr,lpush,lpop,sadd,hset,zadd,lrange_100 >/dev/null 2>&1; do
			passes=$((passes + 1))
			echo "work $passes" >&2
		done
		rm -rf "$dir"
	} &
	serve "$1" "$dir/socket"
}
