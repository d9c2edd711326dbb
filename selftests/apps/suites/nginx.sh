# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # suite.sh reads suite_packages
# nginx, a master and its workers: files, ranges, compression, listings, and requests that it passes
# on to itself, while it is told to begin anew. It has no tests of its own; answers are compared.

suite_packages=(curl zlib1g-dev)

suite_fetch() {
	fetch__source nginx
}

suite_build() {
	copy nginx
	quiet build.log ./configure --with-cc="$1" --with-cc-opt='-O2 -w' --without-http_rewrite_module \
		--with-threads --with-http_addition_module --with-http_sub_module --with-http_gunzip_module
	quiet build.log make -j2 -f objs/Makefile binary
}

suite_parts() {
	echo requests objs/nginx
}

configure() {
	cat <<END
worker_processes 2;
pid $1/pid;
error_log $1/error.log;
events { worker_connections 128; }
http {
	access_log off;
	client_body_temp_path $1/body;
	proxy_temp_path $1/proxy;
	fastcgi_temp_path $1/fastcgi;
	uwsgi_temp_path $1/uwsgi;
	scgi_temp_path $1/scgi;
	proxy_cache_path $1/cache keys_zone=all:1m;
	gzip on;
	gzip_types *;
	gzip_min_length 1;
	upstream self { server unix:$1/socket; }
	server {
		listen unix:$1/socket;
		root $1/root;
		location / { autoindex on; autoindex_format json; ssi on; }
		location /proxy/ { proxy_pass http://self/; }
		location /cached/ { proxy_pass http://self/; proxy_cache all; proxy_cache_valid 1m; }
		location /sub/ { proxy_pass http://self/; proxy_set_header Accept-Encoding ""; sub_filter halo HALO; sub_filter_once off; sub_filter_types *; }
	}
}
END
}

# One line per answer: what was asked for, the status, and what came.
ask() {
	local path=$1 status
	shift
	status=$(curl -s --max-time 60 --unix-socket "$dir/socket" -o "$dir/answer" -w '%{http_code}' "$@" "http://h$path" || true)
	echo "$path $* $status $(sed '/^Date: /d' "$dir/answer" | md5sum)"
	rm -f "$dir/answer"
}

ask_all() {
	local path prefix
	for path in /a.txt /b.txt /c.bin /page.shtml /empty /none /list/ '/a.txt?x=1'; do
		for prefix in '' /proxy /cached /sub; do
			ask "$prefix$path"
			ask "$prefix$path" --compressed
		done
		ask "$path" -r 10-99
		ask "$path" -r 0-9,50-59 -H 'Range: bytes=0-9'
		ask "$path" -I
		ask "$path" -H 'If-Modified-Since: Fri, 01 Jan 2038 00:00:00 GMT'
		ask "$path" -X POST -d x=y
	done
}

suite_run() (
	dir=$(mktemp -d)
	chmod 755 "$dir"
	mkdir -p "$dir/root/list" "$dir/logs"
	seq 1 2000 | sed 's/$/ halo/' >"$dir/root/a.txt"
	seq 1 100000 >"$dir/root/b.txt"
	seq 1 7 300000 | gzip -n >"$dir/root/c.bin"
	echo '<!--#set var="x" value="1" --><!--#echo var="x" --> <!--#include virtual="/a.txt" -->' >"$dir/root/page.shtml"
	touch "$dir/root/empty"
	find "$dir/root" -exec touch -d @1700000000 {} +
	configure "$dir" >"$dir/nginx.conf"
	objs/nginx -p "$dir" -e "$dir/error.log" -c "$dir/nginx.conf"
	trap 'kill "$(cat "$dir/pid")" 2>/dev/null || true; cat "$dir/error.log" >&2; rm -rf "$dir"' EXIT
	for i in 1 2 3; do
		ask_all
		kill -HUP "$(cat "$dir/pid")"
		sleep 0.3
	done
	kill -QUIT "$(cat "$dir/pid")"
	timeout 30 sh -c 'while [ -e "$1" ]; do sleep 0.1; done' - "$dir/pid"
)
