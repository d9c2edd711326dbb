#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# man.sh HALO-BPF PAGE.md: the man page in troff. The line under NAME is the command's help.
set -euo pipefail
name=$(basename "$2" .md)
case $name in
halo-bpf) help='makes native programs faster while they run' ;;
halo-cc) help='compile programs so that halo-bpf can make them faster' ;;
*)
	help=$("$1" help -j |
		jq -r --arg c "${name#halo-bpf-}" '.commands[] | select(.name == $c) | .help')
	;;
esac
[ -n "$help" ] || { echo "$2: halo-bpf has no such command" >&2; exit 1; }
{
	printf '# NAME\n\n%s - %s\n\n' "$name" "$help"
	# The title goes, the first block of code is the synopsis, and links between pages become references.
	sed -E -e '1d' \
		-e 's/\[([^]]*)\]\((halo-[a-z+-]+)\.md\)/**\2**(1)/g' \
		-e 's/\[([^]]*)\]\([^)]*\)/\1/g' -e 's/^##+ (.*)/# \U\1/' "$2" |
		awk '!seen && /^    / { print "# SYNOPSIS\n"; seen = 1; code = 1 }
		     code && !/^    / && NF { print "# DESCRIPTION\n"; code = 0 }
		     { print }'
} | lowdown -s -Tman -M title="$name" -M section=1 -M source=halo-bpf
