# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Lua: the interpreter's loop, collector and string library (lua_bench.lua).

app_fetch() {
	fetch__source lua5.4 prepare_lua
}

# The distribution's patch includes a header that its build generates.
prepare_lua() {
	echo '#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"' >src/lua5.4-deb-multiarch.h
}

app_build() {
	local dir files
	dir=$(src lua5.4)/src
	mapfile -t files < <(find "$dir" -name '*.c' ! -name luac.c | sort)

	compile "$1" "$3 -DLUA_USE_POSIX" "$4" "${files[@]}"
	link "$1" "$3" "$4" "$5" -lm
}

app_run() {
	"$1" "$HERE/lua_bench.lua" 10
}

app_loop() {
	exec "$1" "$HERE/lua_bench.lua" loop >/dev/null
}
