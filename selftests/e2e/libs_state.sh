#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# State of a library stays one while its code is switched: its variables, those that the program has a
# copy of, thread-local ones of all models; and what the program puts in the place of a function of the
# library is called.
set -euo pipefail
# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/../lib.sh"
SOURCES=$SELFTESTS_DIR/e2e/libs

need_root
need_built "$HALO_BPF" "$HALO_CC" "$HALO_CXX" "$BUILD_DIR/halo-opt"
work_dir
unset HALO_DISABLE HALO_SOCKET
cd "$WORK"

# build NAME FLAG…: libNAME.so, and the program that uses it
build() {
	local name=$1
	shift
	"$HALO_CC" -O2 -fPIC "$@" -c "$SOURCES/state.c" -o "$name.o"
	"$HALO_CXX" -O2 -fPIC -fno-exceptions "$@" -shared "$SOURCES/state.cpp" "$name.o" -o "lib$name.so"
	# At a fixed address, so that the program has a copy of what the library exports.
	clang-19 -O2 -fno-pie -no-pie -rdynamic -pthread "$SOURCES/state_main.c" -o "$name" \
		-L. "-l$name" -Wl,-rpath,"$WORK"
}

adopted() {
	program_status "$1" | jq -e '[.sections[] | select(.root == "step" and .state == "adopted")] | length > 0'
}

with_daemon
while read -r name flags; do
	# shellcheck disable=SC2086
	build "$name" $flags
	halo enroll "lib$name.so" >/dev/null
	coproc HOST { exec "./$name"; }
	pid=$HOST_PID
	at_exit "end_process $pid"
	exec 7>&"${HOST[1]}"- 8<&"${HOST[0]}"-
	if wait_for 60 adopted "lib$name.so"; then
		tap_ok "$name: step() is made faster"
	else
		tap_not_ok "$name: step() is made faster" "$(halo explain "lib$name.so")"
	fi
	exec 7>&-
	read -r -t 60 answer <&8 || answer=nothing
	status=0
	wait "$pid" || status=$?
	tap_is "$name: nothing comes out wrong" "0 wrong 0" "$answer $status"
	exec 8<&-
done <<-END
	general -ftls-model=global-dynamic
	local -ftls-model=local-dynamic
	initial -ftls-model=initial-exec
	descriptors -mtls-dialect=gnu2
END

tap_done
