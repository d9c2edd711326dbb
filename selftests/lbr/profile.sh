#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `halo-bpf profile` and `halo-bpf map`: the formats by their readers, and what bpftool shows.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
cat >"$WORK/app.cpp" <<'C'
#include <cstdio>
#include <cstdlib>
namespace deep {
struct Counter {
	unsigned value = 0;
	__attribute__((noinline)) void spin(unsigned n)
	{
		for (unsigned i = 0; i < n; i++)
			value = value * 33 + (i ^ value >> 3);
	}
};
}
int main(int argc, char **argv)
{
	deep::Counter counter;

	for (long i = 0; i < (argc > 1 ? atol(argv[1]) : 1); i++)
		counter.spin(100000);
	printf("%u\n", counter.value);
}
C
clang++-19 -O1 -g -fno-omit-frame-pointer -fuse-ld=lld -Wl,--build-id=sha1 -o "$WORK/app" "$WORK/app.cpp"
clang++-19 -O1 -fuse-ld=lld -Wl,--build-id=none -o "$WORK/noid" "$WORK/app.cpp"
with_daemon
"$WORK/app" 100000000 >/dev/null &
APP=$!
at_exit 'kill -KILL $APP'
id=$(halo -j profile "$WORK/app" --seconds 1 2>/dev/null | jq -r .build_id)

profile() {
	halo profile "$@" 2>"$WORK/err"
}
profile --pid $APP --seconds 2 -o "$WORK/folded"
tap_like "folded: the function, demangled, under its caller" \
	'^app;.*main;deep::Counter::spin\(unsigned int\) [1-9]' "$(cat "$WORK/folded")"
tap_is "folded: nothing but stacks and counts" 0 "$(grep -vc '^[^;]*\(;[^;]*\)* [0-9]*$' "$WORK/folded")"
profile --build-id "$id" --seconds 1 --format json -o "$WORK/json"
tap_is "json: the samples are the sum of its contexts" true \
	"$(jq '.samples == ([.contexts[].count] | add) and .samples > 0' "$WORK/json")"
tap_is "json: leaf frames have function, file and line" true \
	"$(jq '[.contexts[].frames[0] | select(.function == "deep::Counter::spin(unsigned int)")
		| .line >= 7 and .line <= 9 and (.file | endswith("app.cpp"))] | length > 0 and all' "$WORK/json")"
symbol=$(nm "$WORK/app" | awk '/Counter4spin/ { print $1 }')
tap_is "json: link-time addresses, as nm has them" true \
	"$(jq --argjson at "$((0x$symbol))" '[.contexts[].frames[0]
		| select(.function == "deep::Counter::spin(unsigned int)")
		| .vaddr >= $at and .vaddr < $at + 256] | all' "$WORK/json")"
profile "$WORK/app" --seconds 1 --format llvm -o "$WORK/llvm"
tap_like "llvm: llvm-profdata reads it, mangled names" 'Function: _ZN4deep7Counter4spinEj: [1-9]' \
	"$(llvm-profdata-19 show --sample "$WORK/llvm" 2>&1)"
profile "$WORK/app" --seconds 1 --format perfscript -o "$WORK/script"
tap_like "perfscript: a stack as perf prints it" '^	 +[0-9a-f]+ deep::Counter::spin.* \(.*/app\)$' \
	"$(cat "$WORK/script")"
profile "$WORK/app" --seconds 1 --format pprof -o "$WORK/pprof"
cat >"$WORK/profile.proto" <<'P'
syntax = "proto3";
message ValueType { int64 type = 1; int64 unit = 2; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; }
message Mapping { uint64 id = 1; uint64 memory_start = 2; uint64 memory_limit = 3; int64 filename = 5; int64 build_id = 6; bool has_functions = 7; }
message Line { uint64 function_id = 1; int64 line = 2; }
message Location { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated Line line = 4; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; }
message Profile { repeated ValueType sample_type = 1; repeated Sample sample = 2; repeated Mapping mapping = 3;
	repeated Location location = 4; repeated Function function = 5; repeated string string_table = 6;
	int64 duration_nanos = 10; ValueType period_type = 11; int64 period = 12; }
P
if command -v protoc >/dev/null; then
	decoded=$(gzip -dc "$WORK/pprof" | protoc --decode=Profile -I"$WORK" profile.proto)
	tap_like "pprof: the protobuf reads, the first string is empty" '^string_table: ""' \
		"$(grep -m1 string_table <<<"$decoded")"
	tap_like "pprof: with the function and its file" 'string_table: "deep::Counter::spin' "$decoded"
	tap_is "pprof: no field that is not in the format" "" "$(grep -E '^ *[0-9]+:' <<<"$decoded" || true)"
else
	tap_skip "pprof: the protobuf reads" "protoc is missing: tools/install-deps.sh"
fi
for format in bolt unsymbolized; do
	! profile "$WORK/app" --seconds 1 --format $format || [ -s "$WORK/err" ]
	if grep -q '"branches"' <(halo -j status | jq .daemon.tier); then
		tap_skip "$format: says that there are no branches" "this machine records branches"
	else
		tap_like "$format: says that there are no branches, and why" 'no branches were recorded' \
			"$(cat "$WORK/err")"
	fi
done
tap_is "a program that is only watched is gone from the list" 0 "$(halo -j list | jq '.programs | length')"
! profile "$WORK/noid" --seconds 1 || true
tap_like "without a build-id: how to link with one" 'remedy:.*--build-id' "$(cat "$WORK/err")"
! profile --seconds 1 || true
tap_like "without a program: how to name one" 'remedy:.*path' "$(cat "$WORK/err")"
"$HALO_BPF" profile "$WORK/app" --seconds 600 -o "$WORK/cut" 2>"$WORK/err" &
pid=$!
wait_for 20 sh -c "'$HALO_BPF' -j list | grep -q '/app\"'"
wait_for 20 sh -c "[ \$('$HALO_BPF' -j map contexts | jq '.contexts | length') -gt 0 ]"
halo -j map contexts >"$WORK/contexts"
tap_is "map: contexts with names" true \
	"$(jq '[.contexts[].frames[0].function] | index("deep::Counter::spin(unsigned int)") != null' "$WORK/contexts")"
tap_is "map: enrolled programs by build-id" "$id" "$(halo -j map enrolled | jq -r '.enrolled[0].build_id')"
tap_is "map: processes" "$APP" "$(halo -j map processes | jq '.processes[0].pid')"
dump() {
	bpftool -j map dump pinned "/sys/fs/bpf/halo/$1"
}
tap_is "bpftool: halo_enrolled is keyed by the build-id's bytes" "$id" \
	"$(dump halo_enrolled | jq -r '.[0].formatted.key.id[]' | xargs printf '%02x')"
tap_is "bpftool: halo_proc has fields" "$APP true" \
	"$(dump halo_proc | jq -r '.[0].formatted | "\(.key) \(.value.text_start_addr > 0 and .value.exe_id > 0)"')"
tap_is "bpftool: halo_stats has each counter by name" true \
	"$(dump halo_stats | jq '.[0].formatted.values[0].value | has("wrong_path") and has("edge_full") and .ticks >= 0')"
for map in halo_edge_a halo_range_a halo_ctx_a; do
	tap_like "bpftool: $map has typed keys" '"btf_id":[1-9]' \
		"$(bpftool -j map show pinned /sys/fs/bpf/halo/$map)"
done
tap_is "names of maps have at most 15 characters" "" \
	"$(find /sys/fs/bpf/halo -type f -printf '%f\n' | awk 'length > 15')"
kill -INT $pid
wait $pid && status=0 || status=$?
tap_is "Ctrl-C ends a recording before its time" 0 "$status"
tap_like "and what there is is written" 'spin' "$(cat "$WORK/cut")"
tap_is "the program still runs" "" "$(process_ended $APP && echo ended || true)"
tap_done
