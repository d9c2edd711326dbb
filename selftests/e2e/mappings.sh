#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the kernel side knows of the mappings of processes, against /proc/PID/maps; and samples in
# libraries.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
need_built "$HALO_BPF" "$HALO_CC"
work_dir
pins=/sys/fs/bpf/halo

# Works in the library from when the file "go" is there; anew from when "again" is; forks at "fork".
cat >"$WORK/app.c" <<-END
	#include <dlfcn.h>
	#include <stdio.h>
	#include <unistd.h>

	__attribute__((noinline)) unsigned long work(unsigned long n)
	{
		unsigned long sum = 0;

		for (unsigned long i = 0; i < n; i++)
			sum += i * i ^ sum >> 3;
		return sum;
	}

	int main(int argc, char **argv)
	{
		unsigned long (*spin)(unsigned long) = work, sum = 0;
		int again = 0, forked = 0;
		void *lib = NULL;

		for (;;) {
			if (argc > 1 && !lib && !access("go", F_OK)) {
				lib = dlopen(argv[1], RTLD_NOW);
				spin = dlsym(lib, "spin");
			}
			if (lib && !again && !access("again", F_OK)) {
				again = 1;
				dlclose(lib);
				lib = dlopen(argv[1], RTLD_NOW);
				spin = dlsym(lib, "spin");
			}
			if (!forked && !access("fork", F_OK)) {
				forked = 1;
				fork();
			}
			sum += spin(1000000);
		}
	}
END
cat >"$WORK/lib.c" <<-END
	unsigned long spin(unsigned long n)
	{
		unsigned long sum = STEP;

		for (unsigned long i = 0; i < n; i++)
			sum += i * i ^ sum >> STEP;
		return sum;
	}
END
app=$WORK/app
"$HALO_CC" -O2 -o "$app" "$WORK/app.c" -ldl
gcc -O2 -shared -fPIC -DSTEP=3 -Wl,--build-id=sha1 -o "$WORK/lib.so" "$WORK/lib.c"
gcc -O2 -shared -fPIC -DSTEP=4 -Wl,--build-id=sha1 -o "$WORK/new.so" "$WORK/lib.c"

dump() {
	bpftool -j map dump pinned "$pins/$1"
}

# proc_of PID: its entry's value
proc_of() {
	dump halo_proc | jq -c --argjson pid "$1" '.[].formatted | select(.key == $pid).value'
}

# regions_of PID: "start end offset kind" of each
regions_of() {
	local first nr i
	read -r first nr < <(proc_of "$1" | jq -r '"\(.space.first) \(.space.nr)"')
	for ((i = first; i < first + nr; i++)); do
		bpftool -j map lookup pinned "$pins/halo_region" key $((i & 255)) \
			$((i >> 8 & 255)) $((i >> 16 & 255)) 0 | jq -r '.formatted.value |
			"\(.start_addr) \(.end_addr) \(.off) \(.kind)"'
	done
}

# Executable mappings as the process has them, without the offsets of what has no file. The vsyscall
# page is none of its own.
maps_of() {
	local range perms off rest
	while read -r range perms off _ _ rest; do
		[[ $perms == ??x? && $rest != "[vsyscall]" ]] || continue
		[[ $rest == /* ]] || off=0
		echo "$((16#${range%-*})) $((16#${range#*-})) $((16#$off))"
	done <"/proc/$1/maps"
}

same_maps() {
	[ "$(regions_of "$1" | cut -d' ' -f1-3)" = "$(maps_of "$1")" ]
}

# exe_id_of PATH [BUILD_ID]: the number of a file, by its name and contents
exe_id_of() {
	local id
	id=$(readelf -n "$1" | sed -n 's/.*Build ID: //p')
	dump halo_exe | jq --arg path "$2" --arg id "$id" '
		def hex: "0123456789abcdef"[.:. + 1];
		.[].formatted | select(.value.path == $path and $id ==
			(.value.build_id.id | map((. / 16 | floor | hex) + (. % 16 | hex)) | add)).key'
}

# Is a context with its leaf in file EXE_ID in the tables?
sampled_in() {
	{ dump halo_ctx_a; dump halo_ctx_b; } |
		jq -e --argjson id "$1" 'any(.[].formatted.key.frame[0];
			. / 1099511627776 | floor == $id)' | grep -q true
}

with_daemon
halo enroll "$app" >/dev/null
(cd "$WORK" && exec "$app" "$WORK/lib.so") &
pid=$!
at_exit "kill $pid"

wait_for 20 same_maps "$pid" || true
tap_is "all executable mappings are known as /proc/PID/maps has them" \
	"$(maps_of "$pid")" "$(regions_of "$pid" | cut -d' ' -f1-3)"
tap_is "the program, libraries, the vdso and the arena are told apart" "1 2 3 4" \
	"$(regions_of "$pid" | cut -d' ' -f4 | grep -v 5 | sort -u | xargs)"

touch "$WORK/go"
lib_mapped() {
	grep -q "${2:-lib.so}" "/proc/$1/maps" && same_maps "$1"
}
tap_run "a library that is loaded later is found" wait_for 20 lib_mapped "$pid"
first=$(exe_id_of "$WORK/lib.so" "$WORK/lib.so")
tap_like "it has a number" '^[0-9]+$' "$first"
tap_run "which is in the frames of samples in it" wait_for 20 sampled_in "$first"

mv "$WORK/new.so" "$WORK/lib.so"
touch "$WORK/again"
second_known() {
	second=$(exe_id_of "$WORK/lib.so" "$WORK/lib.so") && [ -n "$second" ]
}
tap_run "another file in its place, of the same name and size, is another" wait_for 20 second_known
second_known || true
tap_like "with a number of its own" "^[0-9]+ $first\$" "$second $first"
tap_run "and samples in it are not in the old one" wait_for 20 sampled_in "$second"

touch "$WORK/fork"
wait_for 20 pgrep -P "$pid" || true
child=$(pgrep -P "$pid")
at_exit "kill $child"
tap_is "a forked child shares its parent's mappings" "$(proc_of "$pid" | jq -c .space)" \
	"$(proc_of "$child" | jq -c .space)"

rm "$WORK/go" "$WORK/again" "$WORK/fork"
pids=
for _ in 1 2; do
	(cd "$WORK" && exec setarch -R "$app") &
	pids+=" $!"
	at_exit "kill $!"
done
read -r one two <<<"$pids"
both_known() {
	same_maps "$one" && same_maps "$two" &&
		[ "$(proc_of "$one" | jq -c .space)" = "$(proc_of "$two" | jq -c .space)" ]
}
tap_run "so do processes that are loaded at the same place" wait_for 20 both_known

tap_done
