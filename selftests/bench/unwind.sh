#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What unwinding costs: tables of large files, and BPF run time per sample of a program whose stack is
# 32 frames deep.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir

files=$(find /usr/lib/x86_64-linux-gnu /usr/lib/llvm-19/bin /usr/bin -maxdepth 1 -type f \
	\( -name 'libLLVM.so.19*' -o -name 'libclang-cpp.so.19*' -o -name 'libc.so.6' \
	-o -name 'libstdc++.so.6.*' -o -name gdb -o -name clang-19 \))
# shellcheck disable=SC2086
"$BUILD_DIR/selftests/unwind/tables" $files "$BUILD_DIR/halo-bpf" || true

cat >"$WORK/deep.c" <<-END
	static volatile unsigned long sink;

	__attribute__((noinline)) unsigned long leaf(unsigned long n)
	{
		for (unsigned long i = 0; i < 100000; i++)
			n = n * 6364136223846793005UL + i;
		return n;
	}

	__attribute__((noinline)) unsigned long deep(unsigned long n)
	{
		unsigned long value = n ? deep(n - 1) + 1 : leaf(sink);

		sink = value;
		return value;
	}

	int main(void)
	{
		for (;;)
			deep(26);
	}
END
"$HALO_CC" -O1 -fomit-frame-pointer -o "$WORK/deep" "$WORK/deep.c"
with_daemon

# counter NAME: of halo_stats, over all CPUs
counter() {
	bpftool -j map dump pinned /sys/fs/bpf/halo/halo_stats |
		jq "[.[0].formatted.values[].value.$1] | add"
}
halo enroll "$WORK/deep" >/dev/null
"$WORK/deep" &
at_exit "kill $!"
sleep 5
id=$(bpftool -j prog show name halo_sample | jq -r 'if type == "array" then last else . end | .id')
sysctl -q kernel.bpf_stats_enabled=1
at_exit "sysctl -q kernel.bpf_stats_enabled=0"
before=$(counter samples)
sleep 20
frames=$(for _ in 1 2 3 4 5; do
	{ bpftool -j map dump pinned /sys/fs/bpf/halo/halo_ctx_a
	  bpftool -j map dump pinned /sys/fs/bpf/halo/halo_ctx_b; } |
		jq -r '.[].formatted.key | "quality \(.quality), \(.nr) frames, end \(.end)"'
	sleep 0.2
done | sort | uniq -c | sort -rn | head -1 | sed 's/^ *[0-9]* //')
read -r ns cnt < <(bpftool -j prog show id "$id" | jq -r '"\(.run_time_ns) \(.run_cnt)"')
echo "deep: most contexts: $frames"
after=$(counter samples)
ours=$((after - before))
echo "halo_sample: $cnt runs, $((ns / cnt)) ns each; $ours of them samples of the program," \
	"at most $((ns / ours)) ns each"
awk -v ns="$ns" -v cnt="$ours" 'BEGIN { printf "%.1f million frames per second of CPU time at 32 frames\n",
	32e3 * cnt / ns }'
