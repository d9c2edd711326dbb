#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What doctor says of a kernel is what the table of features promises for its version, and start works
# where it says so.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
need_built "$HALO_BPF"

doctor=$(halo -j doctor) || true
[ -n "$doctor" ] || { tap_not_ok "doctor answers" "$(halo doctor 2>&1)" && tap_done; }
# What the machine has, or how it is set up, is not the version's.
hardware='["cycles event", "branch records (LBR)", "performance counters"]'
release=$(uname -r)
while IFS=$'\t' read -r name since there detail; do
	if [ "$(printf '%s\n' "$since" "${release%%-*}" | sort -V | head -1)" != "$since" ]; then
		echo "# $name: promised from $since on, there: $there"
	elif [ "$there" = true ]; then
		tap_ok "$name, since $since"
	else
		tap_not_ok "$name, since $since" "$detail"
	fi
done < <(jq -r --argjson hardware "$hardware" '.checks[] | select(.since != "" and (.name | IN($hardware[]) | not)) |
	[.name, .since, .ok, .detail] | @tsv' <<<"$doctor")
jq -r '.checks[] | select(.ok | not) | "# lost without \(.name): \(.without)"' <<<"$doctor"

tap_is "nothing that is required is missing" "" \
	"$(jq -r '.checks[] | select(.required and (.ok | not)) | "\(.name): \(.detail)"' <<<"$doctor")"
with_daemon
tap_is "the daemon serves, and samples every CPU" "$(nproc)" "$(halo -j status | jq -r .daemon.cpus)"
tap_done
