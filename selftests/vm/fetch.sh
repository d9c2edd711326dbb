#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# fetch.sh NAME: have the newest kernel that the line NAME of "kernels" means, and print the folder that
# holds it: vmlinuz, config, modules/ (its /lib/modules), release, version (the package's), suite. Exit
# status 3 with the reason when it can't be had.
#
# What was fetched before is kept in $HALO_CACHE, ~/.cache/halo-bpf if that is not set, and used as long
# as it is the newest, or when the mirror can't be asked.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CACHE=${HALO_CACHE:-$HOME/.cache/halo-bpf}
LISTS_MINUTES=360 # for so long a suite's lists are believed
export LC_ALL=C

name=$1
read -r series flavour suites < <(awk -v name="$name" '$1 == name { print $2, $3, $4 }' "$HERE/kernels") ||
	{ echo "no kernel is called '$name' in selftests/vm/kernels" >&2 && exit 2; }
dir=$CACHE/kernels/$name
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9

apt() {
	"$HERE/apt.sh" "$suite" "$@"
}

# The suite's lists, anew when they are old. Fails where there is no such suite (any more).
update() {
	local stamp=$CACHE/apt/$suite/stamp
	[ -n "$(find "$stamp" -mmin "-$LISTS_MINUTES" 2>/dev/null)" ] && return
	mkdir -p "$CACHE/apt/$suite"
	exec 8>"$CACHE/apt/$suite/lock"
	flock 8
	apt apt-get update -qq >"$dir/log" 2>&1 && touch "$stamp"
}

# The image package of the newest version of the series, as "PACKAGE VERSION".
newest() {
	local pattern='[0-9][^ ]*' names
	[ "$series" = - ] || pattern="${series//./\\.}([.~+-][^ ]*)?"
	names=$(apt apt-cache search --names-only "^linux-(image|binary)-$pattern-$flavour\$" |
		awk -v flavour="$flavour" '
			{ abi = $1; sub(/^linux-(image|binary)-/, "", abi) }
			# "linux-image-rt-amd64" and its kind only stand for another.
			abi ~ /^[0-9]+\.[0-9]+.*[0-9.]/ && !(flavour == "amd64" && abi ~ /-(rt|cloud)-amd64$/) {
				print abi
			}' | sort -uV)
	[ -n "$names" ] || return 1
	# "7.3-cloud-amd64" stands for the newest "7.3.4+deb13-cloud-amd64".
	awk '/^[0-9]+\.[0-9]+\.[0-9]/ { named = $1 } { last = $1 } END { print named ? named : last }' <<<"$names"
}

version_of() {
	{ apt apt-cache show "$1" 2>/dev/null || true; } | awk '/^Version:/ && !n++ { print $2 }'
}

# Download and unpack into $dir/new.
download() {
	local abi=$1 package packages=() file
	# Since 6.19 linux-image-* only depends on the others.
	for package in "linux-binary-$abi" "linux-image-$abi" "linux-modules-$abi" "linux-base-$abi"; do
		[ -z "$(version_of "$package")" ] || packages+=("$package")
	done
	rm -rf "$dir/new"
	mkdir -p "$dir/new/debs" "$dir/new/root"
	(cd "$dir/new/debs" && apt apt-get download "${packages[@]}") >"$dir/log" 2>&1 || return 1
	for file in "$dir"/new/debs/*.deb; do
		dpkg-deb -x "$file" "$dir/new/root"
	done
	rm -rf "$dir/new/debs"
	[ -d "$dir/new/root/lib" ] || ln -s usr/lib "$dir/new/root/lib"
	for file in vmlinuz config; do
		for package in "$dir"/new/root/boot/$file-* "$dir"/new/root/lib/modules/*/$file; do
			[ ! -f "$package" ] || ln -sf "${package#"$dir/new/"}" "$dir/new/$file"
		done
	done
	ln -s root/lib/modules "$dir/new/modules"
	[ -f "$dir/new/vmlinuz" ] || { echo "no kernel in ${packages[*]}" >"$dir/log" && return 1; }
}

# keep ABI VERSION: what was downloaded takes the place of what was there.
keep() {
	local release
	release=$(ls "$dir/new/root/lib/modules" 2>/dev/null | head -1)
	echo "${release:-$1}" >"$dir/new/release"
	echo "$2" >"$dir/new/version"
	echo "$suite" >"$dir/new/suite"
	rm -rf "$dir/kernel"
	mv "$dir/new" "$dir/kernel"
}

why=
for suite in ${suites//,/ }; do
	if ! update; then
		why+="${why:+; }$suite: no lists ($(grep -m1 -E '^(E|W):' "$dir/log" || echo "no answer"))"
		continue
	fi
	if ! abi=$(newest); then
		why+="${why:+; }$suite: has no linux-image-$series*-$flavour"
		continue
	fi
	version=$(version_of "linux-binary-$abi")
	version=${version:-$(version_of "linux-image-$abi")}
	if [ "$version" = "$(cat "$dir/kernel/version" 2>/dev/null)" ]; then
		echo "$dir/kernel"
		exit 0
	fi
	if download "$abi"; then
		keep "$abi" "$version"
		echo "$dir/kernel"
		exit 0
	fi
	why+="${why:+; }$suite: $abi can't be downloaded ($(tail -1 "$dir/log"))"
done
if [ -f "$dir/kernel/vmlinuz" ]; then
	echo "# $name: what was fetched before ($(<"$dir/kernel/version")), since $why" >&2
	echo "$dir/kernel"
	exit 0
fi
echo "$why" >&2
exit 3
