#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Exceptions, backtraces and ends of threads cross variants in both directions, and where they could
# not, there is no variant.
set -euo pipefail
# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/../lib.sh"

HALO_OPT=$BUILD_DIR/halo-opt
SOURCES=$SELFTESTS_DIR/e2e/unwind
driver=$BUILD_DIR/selftests/e2e/attach/driver
ROOM=65536
FIRST=$((7 << 20)) # of an arena, behind its header, indices and names

need_root
need_built "$HALO_CC" "$HALO_CXX" "$HALO_OPT" "$driver"
work_dir
unset HALO_DISABLE HALO_SOCKET

# names LIST: of the functions in a list of cases.h
names() {
	sed -n "/define $1/,/^$/s/^\tX(\([a-z_]*\)).*/\1/p" "$SOURCES/cases.h"
}
read -ra ALL <<<"$(names CASES | xargs) $(names ENDS | xargs)"

# build NAME FLAG…: by halo-cc, but for what is to have no bitcode
build() {
	local out=$WORK/$1 compile=()
	shift
	for flag; do
		[[ $flag == -f*pie || $flag == -O0 ]] && compile+=("$flag")
	done
	clang++-19 -O2 "${compile[@]}" -c "$SOURCES/outside.cpp" -o "$out.outside.o"
	"$HALO_CC" -O2 -fexceptions "${compile[@]}" -c "$SOURCES/cleanup.c" -o "$out.cleanup.o"
	"$HALO_CC" -O2 "${compile[@]}" -c "$SOURCES/plain.c" -o "$out.plain.o"
	"$HALO_CXX" -O2 "$@" -pthread "$SOURCES/cases.cpp" "$SOURCES/main.cpp" \
		"$out.cleanup.o" "$out.plain.o" "$out.outside.o" -o "$out"
}

# optimize NAME CASE PLACE: the answer, and in $WORK/NAME.CASE the image
optimize() {
	local exe=$WORK/$1 folder=$WORK/$1.$2 at config
	mkdir -p "$folder"
	at=$(nm "$WORK/$1.symbols" | awk -v name="$2" '$3 == name { print $1 }')
	config=$(jq -c '.[] | select(.name == "host")' "$SOURCE_DIR/knobs/configs.json")
	jq -nc --argjson at $((0x$at)) --argjson place "$3" --argjson config "$config" \
		--argjson room $ROOM '{job: "optimize", samples: [[$at, 100]], config: $config,
			fp: "exact", place: $place, room: $room}' |
		"$HALO_OPT" 3<"$exe" 4<"$folder" 2>>"$WORK/log" || echo '{"status": "crash"}'
}

# arena PIC|FIXED: where it is, from the load address
arena() {
	sed -n "s/^#define HALO_ARENA_$1[ \t]*//p" "$SOURCE_DIR/user/include/halo/prepared.h" |
		sed 's/LL\?\>//g'
}

# images NAME CASE…: in $WORK/NAME.list
images() {
	local exe=$1 kind=FIXED place answer name
	readelf -h "$WORK/$exe" | grep -q 'Type: *EXEC' || kind=PIC
	place=$(($(arena $kind) + FIRST))
	shift
	: >"$WORK/$exe.list"
	for name; do
		answer=$(optimize "$exe" "$name" "$place")
		if [ "$(jq -r .status <<<"$answer")" != ok ]; then
			tap_not_ok "$exe: $name has an image" "$answer"
			continue
		fi
		jq -r --argjson place "$place" --arg folder "$WORK/$exe.$name" \
			'"\(.root.slot) \(.entry) \($place) \($folder)"' <<<"$answer" \
			>>"$WORK/$exe.list"
		place=$((place + ROOM))
	done
	tap_is "$exe: all images are there" $# "$(wc -l <"$WORK/$exe.list")"
}

# run NAME: what it prints when it is switched while it waits
run() {
	local status=0 out=$WORK/$1.out pid
	mkfifo "$WORK/$1.input"
	exec 9<>"$WORK/$1.input"
	timeout 60 "$WORK/$1" "$WORK/library.so" <&9 >"$out" 2>&1 &
	pid=$!
	if wait_for 20 grep -q ready "$out"; then
		"$driver" images "$WORK/$1" "$(pgrep -P "$pid")" "$WORK/$1.list" >"$WORK/$1.driver" 2>&1 || true
	fi
	echo >&9
	wait "$pid" || status=$?
	exec 9>&-
	[ "$status" -eq 0 ] || echo "exit status $status" >>"$out"
	tap_is "$1: all is switched" "switched $(wc -l <"$WORK/$1.list")" "$(cat "$WORK/$1.driver")"
	tap_is "$1: same output" "$(cat "$WORK/expected")" "$(cat "$out")"
}

clang++-19 -O2 -fPIC -shared -DOUTSIDE_LIBRARY "$SOURCES/outside.cpp" -o "$WORK/library.so"
clang-19 -O2 -fexceptions -c "$SOURCES/cleanup.c" -o "$WORK/cleanup.o"
clang-19 -O2 -c "$SOURCES/plain.c" -o "$WORK/plain.o"
clang++-19 -O2 -pthread "$SOURCES"/{cases,main,outside}.cpp "$WORK"/{cleanup,plain}.o \
	-o "$WORK/reference"
echo | timeout 60 "$WORK/reference" "$WORK/library.so" >"$WORK/expected"

# Stripped, the program does not tell where its vtables and external types are; compiled at -O0, small
# functions with inner loops have none.
while read -r name cases flags; do
	read -ra list <<<"${cases//,/ }"
	[ "$cases" != all ] || list=("${ALL[@]}")
	# shellcheck disable=SC2086
	build "$name" $flags
	cp "$WORK/$name" "$WORK/$name.symbols"
	[ "$name" != stripped ] || strip "$WORK/$name"
	tap_is "$name: same output when nothing is attached" "$(cat "$WORK/expected")" \
		"$(echo | timeout 60 "$WORK/$name" "$WORK/library.so" 2>&1 || echo "exit status $?")"
	images "$name" "${list[@]}"
	run "$name"
done <<-END
	dynamic all
	fixed all -fno-pie -no-pie
	stripped passes,local_types
	lld all -fuse-ld=lld -Wl,--gc-sections
	own_libgcc throws,catches,cleans_up,cancelled -static-libgcc
	own_libstdcxx catches,rethrows,local_types -static-libgcc -static-libstdc++
	now catches,cleans_up -Wl,-z,now
	exporting catches,traced,local_types -rdynamic
	unoptimized catches,catches_all,rethrows,cleans_up,cleans_up_in_c,local_types,nests,keeps,library -O0
END

# Where nobody would find the frames of a variant, there is none.
echo '{ local: *; };' >"$WORK/nothing"
clang-19 -shared -Wl,-soname,libunwind.so.1 -x c /dev/null -o "$WORK/other.so"
while read -r name reason flags; do
	# shellcheck disable=SC2086
	build "$name" ${flags//WORK/$WORK} 2>/dev/null
	cp "$WORK/$name" "$WORK/$name.symbols"
	answer=$(optimize "$name" catches 4096)
	tap_is "$name: no variant handles exceptions" none "$(jq -r .status <<<"$answer")"
	tap_like "$name: and the reason is said" "${reason//_/ }" "$answer"
done <<-END
	static linked_statically -static
	hidden does_not_export -Wl,--version-script=WORK/nothing
	other not_GCC's -Wl,--no-as-needed,WORK/other.so
END

tap_done
