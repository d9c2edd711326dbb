#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Whoever looks at a program that runs variants sees their names and whole stacks: gdb, in the process and in
# its core dump, perf, and the program itself; and probes can be set on functions that are switched.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$SELFTESTS_DIR/e2e/torture/lib.sh"
need_root
work_dir
need_built "$HALO_BPF" "$BUILD_DIR/halo-opt" "$HALO_CC"

SOURCES=$SELFTESTS_DIR/e2e/names
GDB_SCRIPT=$SOURCE_DIR/tools/gdb/halo-bpf.py
TRACING=/sys/kernel/tracing
cd "$WORK"

clang-19 -O1 -c "$SOURCES/probe.c" -o probe.o
"$HALO_CC" -O2 -rdynamic "$SOURCES/main.c" probe.o -o halo
clang-19 -O2 -rdynamic "$SOURCES/main.c" probe.o -o plain
cp halo stripped
strip stripped

# begin EXE MODE: under torture, until it does what it was asked for; its process is $pid
begin() {
	"$HALO_BPF" torture -j --hold --report report --seed 1 "./$1" "${@:2}" >output 2>errors &
	tortured=$!
	at_exit "end_process $tortured"
	if ! wait_for 60 grep -q '^ready' output; then
		tap_not_ok "$*: a variant runs" "$(cat output errors)"
		tap_done
	fi
	pid=$(sed -n 's/^pid //p' output)
}

end() {
	local status=0 rounds
	kill -TERM "$pid"
	wait "$tortured" || status=$?
	rounds=$(awk 'END { print $1 }' output)
	tap_is "$1: the program goes on, and its result is right" "0 $(./plain "" "$rounds" | tail -1)" \
		"$status $(tail -1 output)"
}

debug() {
	gdb -q -nx -batch -ix "$GDB_SCRIPT" "$@" 2>&1 || true
}

# The functions of a stack that gdb prints, from probe() outwards.
functions() {
	awk '/^#/ { name = $2 ~ /^0x/ ? $4 : $2; if (name == "probe") seen = 1; if (seen) printf "%s ", name }'
}

begin halo wait
arena=$(awk '/\/arena-/ { print $6; exit }' "/proc/$pid/maps")
tap_run "the arena is an ELF file that its path leads to" readelf -hlSs "$arena"
tap_is "elfutils finds no fault in its frame descriptions" "" \
	"$(readelf --debug-dump=frames "$arena" 2>&1 >/dev/null)"
tap_is "gdb: a process" "probe inner outer main " "$(debug -p "$pid" -ex bt | functions)"
tap_like "gdb: the code is the variant's" '/arena-' \
	"$(debug -p "$pid" -ex 'up 2' -ex 'info symbol $pc' -ex 'up' -ex 'info symbol $pc' -ex up -ex 'info symbol $pc')"
answer=$(debug -p "$pid" -ex 'set confirm off' -ex 'gcore dump')
if [ -e dump ]; then
	tap_is "gdb: its core dump" "probe inner outer main " "$(debug halo dump -ex bt | functions)"
else
	tap_not_ok "gdb: its core dump" "$answer"
fi
tap_like "gdb: a breakpoint is set in variants too" '[2-9][0-9]* locations' \
	"$(debug -p "$pid" -ex 'break inner')"
end "gdb"

# As somebody who may debug the process and reads no file of the daemon's.
if [ "$(cat /proc/sys/kernel/core_pattern)" = core ]; then
	(ulimit -c unlimited && "$HALO_BPF" torture -j --hold --seed 1 ./halo abort >output 2>errors) || true
	dump=$(ls core* 2>/dev/null | head -1)
	tap_like "the kernel's core dump has the arena's headers" '/arena-' \
		"$(debug halo "$dump" -ex 'info proc mappings')"
else
	tap_skip "the kernel's core dump" "core dumps go to $(cat /proc/sys/kernel/core_pattern)"
fi

begin halo spin
if perf record -q -e cpu-clock -F 999 -g --call-graph fp -o perf.data -p "$pid" -- sleep 1 >perf.log 2>&1; then
	perf report -i perf.data --stdio --no-children -g none -F dso,sym 2>/dev/null >perf.report || true
	tap_like "perf report: the variant's name" 'arena-[0-9a-f]+ +\[\.\] (inner|outer)' "$(cat perf.report)"
else
	tap_skip "perf report: the variant's name" "perf can't sample here: $(head -1 perf.log)"
fi
end "perf"

# By the C library, as in the program's own code: static functions have no name there.
for exe in halo stripped; do
	"$HALO_BPF" torture -j --hold --report report --seed 1 "./$exe" trace >output 2>errors || true
	tap_is "$exe: backtrace_symbols(), and _fd(), name a variant's frames" "2 2 2" \
		"$(grep -c "$exe(inner+0x10)" output) $(grep -c "$exe(+0x[0-9a-f]*)" output) $(grep -c "$exe(main+0x" output)"
done

# hits NAME: of a probe
hits() {
	awk -v name="$1" '$2 == name { n = $3 } END { print n + 0 }' "$TRACING/uprobe_profile"
}

# hit NAME TIMES
hit() {
	[ "$(hits "$1")" -ge "$2" ]
}

# probe NAME FILE OFFSET: set, hit, and removed
probe() {
	echo "p:halo_test/$1 $2:$3" >>"$TRACING/uprobe_events"
	echo 1 >"$TRACING/events/halo_test/$1/enable"
	wait_for 30 hit "$1" 100 && tap_ok "uprobe: $1 is hit" || tap_not_ok "uprobe: $1 is hit" "$(hits "$1")"
	echo 0 >"$TRACING/events/halo_test/$1/enable"
	echo "-:halo_test/$1" >>"$TRACING/uprobe_events"
}

begin halo spin
symbol() {
	readelf -sW "$1" | awk -v name="$2" '$8 == name { print "0x" $2; exit }'
}
offset_of() {
	local vaddr=$(($(symbol "$1" "$2"))) off at size
	while read -r off at size; do
		[ $((at)) -gt "$vaddr" ] || [ $((at + size)) -le "$vaddr" ] || printf '%#x' $((vaddr - at + off))
	done < <(readelf -lW "$1" | awk '$1 == "LOAD" { print $2, $3, $5 }')
}
arena=$(awk '/\/arena-/ { print $6; exit }' "/proc/$pid/maps")
for i in 1 2 3; do
	probe "program$i" "$WORK/halo" "$(offset_of halo inner)"
	probe "variant$i" "$arena" "$(symbol "$arena" inner)"
done
end "uprobes"

tap_done
