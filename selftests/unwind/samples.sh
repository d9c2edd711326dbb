#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Contexts of real samples, by tables in the kernel: of a program without frame pointers, in the C
# library, and in a variant.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
need_built "$HALO_BPF" "$HALO_CC"
work_dir

cat >"$WORK/app.c" <<-END
	#include <stdlib.h>

	static volatile unsigned long sink;
	static int v[20000];

	__attribute__((noinline)) unsigned long leaf(unsigned long n)
	{
		for (unsigned long i = 0; i < 20000; i++)
			n = n * 6364136223846793005UL + i;
		return n;
	}

	__attribute__((noinline)) unsigned long deep(unsigned long n)
	{
		unsigned long value = n ? deep(n - 1) + 1 : leaf(sink);

		sink = value;
		return value;
	}

	static int compare(const void *a, const void *b)
	{
		return *(const int *)a - *(const int *)b;
	}

	int main(void)
	{
		for (;;) {
			for (int i = 0; i < 200; i++)
				deep(12);
			for (int i = 0; i < 20000; i++)
				v[i] = i * 7919 % 10007;
			qsort(v, 20000, sizeof(v[0]), compare);
		}
	}
END
app=$WORK/app
"$HALO_CC" -O1 -fomit-frame-pointer -o "$app" "$WORK/app.c"
with_daemon
halo enroll "$app" >/dev/null
"$app" &
at_exit "kill $!"

# A line per context that was seen within some seconds: quality, frames, end, and whether the leaf is
# in an arena or in a library.
contexts() {
	local i
	for i in 1 2 3 4 5 6; do
		{
			bpftool -j map dump pinned /sys/fs/bpf/halo/halo_ctx_a
			bpftool -j map dump pinned /sys/fs/bpf/halo/halo_ctx_b
		} | jq -r '.[].formatted.key | .exe_id as $exe | (.frame[0] / 1099511627776 | floor) as $f |
			"\(.quality) \(.nr) \(.end) \(if $f >= 8388608 then "arena"
				elif $f == $exe then "program" else "library" end)"'
		sleep 0.2
	done
}
has_context() {
	contexts | grep -Eq "$1"
}

tap_run "callers are found without frame pointers, up to the root" wait_for 60 has_context '^4 1[0-9] 1 program'
tap_run "in the C library too" wait_for 60 has_context '^4 [0-9]+ 1 library'
gains=$PROGRAMS_DIR/halo/perlin
need_built "$gains"
halo enroll "$gains" >/dev/null
"$gains" --endless >/dev/null 2>&1 &
at_exit "kill $!"
tap_run "and in variants" wait_for 120 has_context '^4 [0-9]+ 1 arena'
tap_done
