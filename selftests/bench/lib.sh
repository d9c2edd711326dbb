# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by the benchmarks, after selftests/lib.sh: how fast does a running program work? Measured
# from outside: the work that it says it has done, over the CPU time that the kernel says it took.

CLOCK_TICKS=$(getconf CLK_TCK)

die() {
	echo "Error: $1" >&2
	[ -z "${2-}" ] || echo "  remedy: $2" >&2
	exit 1
}

# The daemon of this script alone, for what it measures to be what it says.
need_no_daemon() {
	daemon_absent || die "a halo-bpf daemon runs already, which this would disturb" \
		"sudo $HALO_BPF stop"
}

# cpu_seconds PID: user and system time of all its threads, in $REPLY
cpu_seconds() {
	local stat fields
	REPLY=
	read -r stat <"/proc/$1/stat" || return 1
	read -ra fields <<<"${stat##*) }"
	REPLY=$(((fields[11] + fields[12]) * 1000 / CLOCK_TICKS))
	printf -v REPLY '%d.%03d' $((REPLY / 1000)) $((REPLY % 1000))
}

# work_of LINE: the work done so far that a line on standard error tells, in $REPLY. Either
# "rate R rounds/s-cpu total N cpu S" or "work N".
work_of() {
	local words
	read -ra words <<<"$1"
	case ${words[0]-} in
	rate) REPLY=${words[4]} ;;
	work) REPLY=${words[1]} ;;
	*) return 1 ;;
	esac
}

# rates PID FILE N: N rates, one per line, each over at least one second of CPU time and between two
# lines that the program wrote to FILE.
rates() {
	local pid=$1 n=$3 fd line work cpu last_work='' last_cpu='' deadline=$((SECONDS + 20 * $3))
	exec {fd}< <(exec tail -n 0 -f "$2" --pid "$pid")
	local tail_pid=$!
	while [ "$n" -gt 0 ] && [ "$SECONDS" -lt "$deadline" ] && read -r -t 20 -u "$fd" line; do
		work_of "$line" || continue
		work=$REPLY
		cpu_seconds "$pid" || break
		cpu=$REPLY
		if [ -n "$last_work" ]; then
			awk -v w="$work" -v lw="$last_work" -v c="$cpu" -v lc="$last_cpu" \
				'BEGIN { if (c - lc < 0.9) exit 1; print (w - lw) / (c - lc) }' ||
				continue
			n=$((n - 1))
		fi
		last_work=$work last_cpu=$cpu
	done
	kill "$tail_pid" 2>/dev/null
	exec {fd}<&-
	[ "$n" -eq 0 ]
}

# median of the numbers on standard input
median() {
	sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

build_id_of() {
	readelf -n "$1" 2>/dev/null | awk '/Build ID:/ { print $3 }'
}

# record FILE KEY=VALUE…: append one record (docs/formats/figures.md) to the array in FILE. Numbers,
# true, false and null stay what they are.
record() {
	local file=$1 pair args=()
	shift
	for pair in "$@"; do
		args+=(--arg "${pair%%=*}" "${pair#*=}")
	done
	[ -s "$file" ] || echo '[]' >"$file"
	jq "${args[@]}" 'def value: . as $text | try fromjson catch $text;
		. + [$ARGS.named | to_entries | map({key, value: (.value | value)}) |
		from_entries]' "$file" >"$file.new"
	mv "$file.new" "$file"
}
