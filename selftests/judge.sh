# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by what runs test files: judges what one has printed.

# judge OUTPUT NAME STATUS SECONDS SKIPS: read the results in the file OUTPUT of the test file NAME, which
# had so many seconds to end; adds "NAME: TITLE: REASON" to the file SKIPS for each skip; sets ok, not_ok,
# skip and why (what is wrong beyond failed results, which counts as one more).
judge() {
	local output=$1 name=$2 status=$3 seconds=$4 skips=$5 planned
	planned=$(awk '/^1\.\.[0-9]+/ { sub(/^1\.\./, ""); n += $1; seen = 1 } END { if (seen) print n }' \
		"$output")
	read -r ok not_ok skip < <(awk -v name="$name" -v skips="$skips" '
		/^(not )?ok([ \t]|$)/ {
			if (match($0, /# *[Ss][Kk][Ii][Pp]/)) {
				skip++
				text = substr($0, RSTART + RLENGTH)
				sub(/^[a-z]*[: ]*/, "", text)
				title = substr($0, 1, RSTART - 1)
				sub(/^(not )?ok *[0-9]* *-? */, "", title)
				sub(/ *$/, "", title)
				print name (title ? ": " title : "") ": " text >> skips
			} else if (/^ok/)
				good++
			else
				bad++
		}
		END { print good + 0, bad + 0, skip + 0 }' "$output")
	why=
	if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
		why="ended after $seconds s"
	elif [ "$status" -gt 128 ]; then
		why="killed by signal $((status - 128))"
	elif grep -q '^Bail out!' "$output"; then
		why="bailed out"
	elif [ -z "$planned" ]; then
		why="no plan"
	elif [ "$planned" -ne $((ok + not_ok + skip)) ]; then
		why="$planned planned, $((ok + not_ok + skip)) seen"
	elif [ "$status" -ne 0 ] && [ "$not_ok" -eq 0 ]; then
		why="exit status $status"
	fi
	[ -z "$why" ] || not_ok=$((not_ok + 1))
}
