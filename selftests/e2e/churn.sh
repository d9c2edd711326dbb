#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A daemon that lives for long: programs and libraries that come and go leave nothing behind in its
# tables; and status tells how full those are, and how contexts were found.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir

# Each of them another file with another build-id; the program maps another library.
cat >"$WORK/app.c" <<-END
	#include <dlfcn.h>

	static volatile unsigned long sink = BUILD;

	int main(int argc, char **argv)
	{
		unsigned long (*work)(unsigned long) =
			dlsym(dlopen(argv[argc - 1], RTLD_NOW), "work");

		for (;;)
			sink = work(sink);
	}
END
cat >"$WORK/lib.c" <<-END
	unsigned long work(unsigned long n)
	{
		for (int i = 0; i < 100000; i++)
			n = n * 6364136223846793005UL + BUILD;
		return n;
	}
END
builds=4
for i in $(seq $builds); do
	"$HALO_CC" -O1 -DBUILD="$i" -o "$WORK/app$i" "$WORK/app.c"
	gcc -O1 -DBUILD="$i" -Wl,--build-id=sha1 -shared -fPIC -o "$WORK/lib$i.so" "$WORK/lib.c"
done
with_daemon HALO_SWEEP_MS=1000

room() {
	halo -j status | jq ".daemon.room.$1"
}
stat_of() {
	halo -j status | jq ".daemon.stats.$1"
}
has_files() {
	[ "$(room files.used)" -le "$1" ]
}
has_bytes() {
	[ "$(room frame_bytes.used)" -le "$1" ]
}
maps_library() {
	bpftool -j map dump pinned /sys/fs/bpf/halo/halo_exe | grep -q "$1"
}

# One first, after which those remain that all programs map.
run_build() {
	local pid
	halo enroll "$WORK/app$1" >/dev/null
	"$WORK/app$1" "$WORK/lib$1.so" &
	pid=$!
	wait_for 60 maps_library "lib$1.so" || seen=no
	halo unenroll "$WORK/app$1" >/dev/null
	kill "$pid"
	wait "$pid" 2>/dev/null || true
}
seen=yes
halo enroll "$WORK/app1" >/dev/null
"$WORK/app1" "$WORK/lib1.so" &
first=$!
wait_for 60 maps_library lib1.so || seen=no
sleep 3
base=$(room files.used) bytes=$(room frame_bytes.used)
tap_run "files that a process has mapped are known" [ "$base" -ge 3 ]
for i in $(seq 2 $builds); do
	run_build "$i"
	rm -f "$WORK/app$i" "$WORK/lib$i.so"
done
tap_is "the library of each program is seen" yes "$seen"
tap_run "numbers of programs and libraries that are gone are free again" \
	wait_for 60 has_files "$base"
tap_run "so is the room of their frame descriptions" wait_for 60 has_bytes "$bytes"
tap_run "what is mapped still is known" maps_library lib1.so
before=$(stat_of by_rules)
more_contexts() {
	[ "$(stat_of by_rules)" -gt "$((before + 20))" ]
}
tap_run "and its contexts are exact" wait_for 60 more_contexts
shown=$(halo status)
tap_like "status says how contexts were found" 'contexts found by frame descriptions alone \(' "$shown"
tap_like "and that they are whole" 'contexts that reach the outermost caller \(' "$shown"
tap_like "and how full the tables are" 'of 4095 files with code are known' "$shown"
contexts=$(halo -j status | jq '.daemon.stats | [.by_rules + .by_fp + .leaves,
	.whole + .cut_depth + .cut_unmapped + .cut_no_rule + .cut_read + .cut_stack + .cut_reg] |
	.[0] == .[1] and .[0] > 0')
tap_is "each context has one way and one end" true "$contexts"
kill "$first"
halo unenroll "$WORK/app1" >/dev/null
tap_run "in the end no file is left but the vdso" wait_for 60 has_files 1
tap_done
