# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by "run": turns what machines printed into records and a table. In $work there is a folder
# KERNEL.MACHINE for each: tests, results, console, status, boots.

# What a kernel's log must not have.
SPLATS='WARNING: (CPU:|possible|suspicious|inconsistent|bad unlock|held lock|lock held|[^ ]+:[0-9]+ at )'
SPLATS+='|BUG: |kernel BUG|Oops|general protection fault|Kernel panic|stack segment|invalid opcode'
SPLATS+='|rcu.*(stall|detected)|INFO: task .* blocked for|soft lockup|hard LOCKUP|Call Trace:'
SPLATS+='|suspicious RCU usage|UBSAN:|KASAN:|sleeping function called|scheduling while atomic'
TAINT_DIED=128 TAINT_WARN=512 TAINT_LOCKUP=16384

VERIFIER=$HERE/verifier    # lines "KERNEL PROGRAM INSTRUCTIONS"
VERIFIER_SLACK=10          # per cent that a count may be above the one in there
VERIFIER_MAX=700000        # of the kernel's million

total_passed=0 total_failed=0 total_skipped=0 total_ran=0
: >"$work/records"
: >"$work/failures"
: >"$work/skips"

# record KERNEL MACHINE TEST PASSED FAILED SKIPPED SECONDS WHY [FILE]: FILE holds what was printed.
record() {
	local output=/dev/null
	[ $# -lt 9 ] || output=$9
	total_passed=$((total_passed + $4)) total_failed=$((total_failed + $5)) total_skipped=$((total_skipped + $6))
	jq -nc --arg kernel "$1" --arg machine "$2" --arg test "$3" --argjson passed "$4" --argjson failed "$5" \
		--argjson skipped "$6" --argjson seconds "$7" --arg why "$8" \
		--rawfile not_ok <(grep -E '^not ok|^Bail out!' "$output") \
		--rawfile skips <(grep -Ei '^ok .*# *skip' "$output") \
		'{$kernel, $machine, $test, $passed, $failed, $skipped, $seconds, $why,
			failures: ($not_ok | split("\n") | map(select(. != ""))),
			skips: ($skips | split("\n") | map(select(. != "") | sub("^ok [0-9]* *-? *"; "")))}' \
		>>"$work/records"
	if [ "$5" -gt 0 ]; then
		{
			echo "--- $1, $2: $3${8:+ ($8)}"
			grep -A 4 '^not ok' "$output" | head -n 60 | sed 's/^/    /'
			echo "    ..."
			tail -n 25 "$output" | sed 's/^/    /'
		} >>"$work/failures"
	fi
}

report_skip() {
	record "$1" - - 0 0 1 0 "$2"
	echo "  $1: $2" >>"$work/skips"
}

# Each test's output into a file $1/out.N, and "N TEST STATUS MILLISECONDS" into $1/list; a test that
# did not end has no status. What is told beside goes to $1/log, $1/booted, $1/done.
split_results() {
	rm -f "$1"/out.* "$1"/log "$1"/booted "$1"/done
	: >"$1/list"
	[ -f "$1/results" ] || return 0
	awk -v dir="$1" '
		/^@@ begin / { n++; name = $3; out = dir "/out." n; printf "" >out; next }
		/^@@ end / && out { print n, name, $(NF - 1), $NF >(dir "/list"); close(out); out = ""; next }
		/^@@ booted / { sub(/^@@ booted /, ""); print >(dir "/booted"); next }
		/^@@ log/ { out = dir "/log"; printf "" >out; next }
		/^@@ done/ { print >(dir "/done"); next }
		out { print >out }
		END { if (out && out !~ /log$/) print n, name >(dir "/list") }' "$1/results"
}

report_log() {
	local kernel=$1 machine=$2 dir=$3 found tainted
	cat "$dir/log" "$dir/console" 2>/dev/null | grep -aE "$SPLATS" | sort -u >"$dir/splats"
	tainted=$(awk '/^# tainted / { n = $3 } END { print n + 0 }' "$dir"/out.* 2>/dev/null || echo 0)
	found=$(wc -l <"$dir/splats")
	if [ "$found" -gt 0 ] || [ $((tainted & (TAINT_DIED | TAINT_WARN | TAINT_LOCKUP))) -ne 0 ]; then
		{
			echo "not ok 1 - the kernel's log has nothing that it should not (tainted: $tainted)"
			cat "$dir/splats"
			tail -n 100 "$dir/log" 2>/dev/null || tail -n 60 "$dir/console"
		} >"$dir/out.log"
		record "$kernel" "$machine" "kernel log" 0 1 0 0 "" "$dir/out.log"
	else
		record "$kernel" "$machine" "kernel log" 1 0 0 0 ""
	fi
}

report_machine() {
	local kernel=$1 machine=$2 dir=$work/$1.$2 n name status ms ok not_ok skip why reached=
	split_results "$dir"
	if [ ! -s "$dir/booted" ]; then
		tail -n 40 "$dir/console" "$dir/qemu" >"$dir/out.boot" 2>/dev/null
		record "$kernel" "$machine" "boot" 0 1 0 0 "no sign of life in $(cat "$dir/boots" 2>/dev/null) boots" "$dir/out.boot"
		return
	fi
	while read -r n name status ms; do
		reached+=" $name "
		total_ran=$((total_ran + 1))
		if [ -z "$status" ]; then
			tail -n 40 "$dir/console" >>"$dir/out.$n"
			record "$kernel" "$machine" "$name" 0 1 0 0 "the machine ended in it" "$dir/out.$n"
			continue
		fi
		judge "$dir/out.$n" "$kernel $machine $name" "$status" "$TEST_SECONDS" "$work/skips.tests"
		record "$kernel" "$machine" "$name" "$ok" "$not_ok" "$skip" "$(awk -v ms="$ms" 'BEGIN { print ms / 1000 }')" \
			"$why" "$dir/out.$n"
		sed -n "s/^# verifier /$kernel /p" "$dir/out.$n" >>"$work/verifier"
	done <"$dir/list"
	while read -r name; do
		[[ $reached == *" $name "* ]] || record "$kernel" "$machine" "$name" 0 1 0 0 "the machine ended before it"
	done <"$dir/tests"
	[ "$kernel" = running ] || report_log "$kernel" "$machine" "$dir"
}

# The verifier's counts against those that are checked in, one result per kernel.
report_verifier() {
	local kernel
	[ -s "$work/verifier" ] || return 0
	if [ -n "$update" ]; then
		update_verifier
	fi
	for kernel in $(awk '{ print $1 }' "$work/verifier" | sort -u); do
		[ "$kernel" != running ] || continue # may be any
		if ! grep -q "^$kernel " "$VERIFIER"; then
			record "$kernel" - "verifier counts" 0 0 1 0 "none are checked in for it: run -u"
			echo "  $kernel: no verifier counts are checked in: selftests/vm/run -u" >>"$work/skips"
			continue
		fi
		awk -v kernel="$kernel" -v slack="$VERIFIER_SLACK" -v max="$VERIFIER_MAX" '
			$1 != kernel { next }
			FILENAME == ARGV[1] { known[$2] = $3; next }
			seen[$2]++ { next }
			{ n++ }
			$3 > max { print "not ok - " $2 " takes " $3 " instructions: the verifier gives up at a million" }
			!($2 in known) { print "not ok - " $2 " takes " $3 " instructions, with none checked in: run -u"; next }
			$3 > known[$2] * (100 + slack) / 100 {
				print "not ok - " $2 " takes " $3 " instructions, " known[$2] " are checked in"
			}
			END { print "# " n " programs" }' <(grep -v '^#' "$VERIFIER") "$work/verifier" >"$work/out.verifier"
		n=$(grep -c '^not ok' "$work/out.verifier")
		record "$kernel" - "verifier counts" $((n == 0)) "$n" 0 0 "" "$work/out.verifier"
	done
}

update_verifier() {
	{
		sed -n '/^#/p' "$VERIFIER"
		{
			grep -v '^#' "$VERIFIER" | awk 'NR == FNR { seen[$1 " " $2]; next } !($1 " " $2 in seen)' "$work/verifier" -
			grep -v '^running ' "$work/verifier"
		} | sort -u -k1,1V -k2,2
	} >"$work/verifier.new"
	cp "$work/verifier.new" "$VERIFIER"
	echo "the verifier's counts are in $VERIFIER" >&2
}

# A column per kernel, a row per machine and test: passed results, or what is wrong.
print_table() {
	jq -rs '
		def cell: if .failed > 0 then "FAIL" elif .passed == 0 then "skip" else "\(.passed)" end;
		[.[] | select(.test != "-")] as $all
		| ($all | map(.kernel) | reduce .[] as $k ([]; if index([$k]) then . else . + [$k] end)) as $kernels
		| ($all | map("\(.machine) \(.test)") | reduce .[] as $t ([]; if index([$t]) then . else . + [$t] end)) as $tests
		| (["machine, test"] + $kernels | @tsv),
		  ($tests[] as $t | [$t] + [$kernels[] as $k
			| ([$all[] | select(.kernel == $k and "\(.machine) \(.test)" == $t)][0] | if . then cell else "" end)]
			| @tsv)' "$work/records" |
		awk -F'\t' '{ printf "%-28s", $1; for (i = 2; i <= NF; i++) printf " %12s", $i; print "" }'
}

# Exit status of the whole.
report_all() {
	local kernel dir
	: >"$work/skips.tests"
	for kernel in "$@"; do
		for dir in "$work/$kernel".*/; do
			[ ! -d "$dir" ] || report_machine "$kernel" "$(basename "${dir#"$work/$kernel."}")"
		done
	done
	report_verifier
	mkdir -p "$(dirname "$out")"
	jq -s --rawfile fetched <(cat "$work/fetched" 2>/dev/null) --rawfile verifier <(cat "$work/verifier" 2>/dev/null) '
		def lines: split("\n") | map(select(. != ""));
		{
			kernels: ($fetched | lines | map(split("\t") | {name: .[0], release: .[1], version: .[2], suite: .[3]})),
			verifier: ($verifier | lines | map(split(" ") | {kernel: .[0], program: .[1], instructions: (.[2] | tonumber)})),
			results: .
		}' "$work/records" >"$out"
	cat "$work/failures"
	print_table
	if [ -s "$work/skips" ] || [ -s "$work/skips.tests" ]; then
		echo "Skipped:"
		cat "$work/skips"
		sed 's/^/  /' "$work/skips.tests"
	fi
	echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
	[ "$total_failed" -eq 0 ] && [ "$total_ran" -gt 0 ]
}
