#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# apt.sh SUITE COMMAND…: apt-get or apt-cache for another suite of the distribution, in a folder of its
# own. /etc/apt and /var/lib/apt are only read, for the mirror's address.
set -euo pipefail

suite=$1 tool=$2
shift 2
root=${HALO_CACHE:-$HOME/.cache/halo-bpf}/apt/$suite
mkdir -p "$root"/{lists/partial,archives/partial,parts}
[ -e "$root/status" ] || : >"$root/status"

# The first two addresses are the archive's and the security archive's; one-line and deb822 format.
mapfile -t uris < <(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null |
	sed -n 's/^URIs:[[:space:]]*\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\).*/\2/p' |
	grep debian || true)
if [ ${#uris[@]} -eq 0 ]; then
	echo "Error: no Debian archive in /etc/apt/sources.list.d" >&2
	exit 1
fi
uri=${uris[0]}
if [[ $suite == *-security ]]; then
	uri=${uris[0]}-security
	for known in "${uris[@]}"; do
		[[ $known != *-security* ]] || uri=$known
	done
fi
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [arch=amd64 signed-by=$keys] $uri $suite main" >"$root/sources.list"

exec "$tool" \
	-o Dir::Etc::sourcelist="$root/sources.list" -o Dir::Etc::sourceparts="$root/parts" \
	-o Dir::State::lists="$root/lists" -o Dir::State::status="$root/status" \
	-o Dir::Cache::archives="$root/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
	-o APT::Architecture=amd64 -o APT::Architectures::=amd64 -o APT::Sandbox::User=root \
	-o Acquire::Languages=none -o Acquire::Check-Valid-Until=false \
	-o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false "$@"
