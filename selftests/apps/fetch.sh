# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by app.sh: source packages of the distribution, unpacked under $APPS/src. The list of
# sources and the package index are our own; nothing outside $APPS is touched.

fetch__apt() {
	apt-get -qq -o Dir::Etc::sourcelist="$APPS/apt/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null \
		-o Dir::State::lists="$APPS/apt/lists" -o Dir::Cache="$APPS/apt/cache" \
		-o APT::Sandbox::User=root "$@"
}

# Where the machine gets its packages from, it gets the sources too. The base release alone: its
# files stay, while those of security and update suites go away when a newer version comes.
fetch__index() {
	local targets

	[ -e "$APPS/apt/updated" ] && return
	mkdir -p "$APPS/apt/lists/partial" "$APPS/apt/cache/archives/partial"
	# shellcheck disable=SC2016 # apt-get expands these
	targets=$(apt-get indextargets --format \
		'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN) $(CREATED_BY)')
	awk '$5 ~ /^(Debian|Ubuntu)$/ && $6 == "Packages" && $3 !~ /-/ { print $1, $2, $3, $4 }' \
		<<<"$targets" >"$APPS/apt/sources.list"
	if [ ! -s "$APPS/apt/sources.list" ]; then
		echo "Error: apt has no package index of a Debian or Ubuntu release" >&2
		echo "  remedy: run apt-get update" >&2
		return 1
	fi
	fetch__apt update >&2
	touch "$APPS/apt/updated"
}

# fetch__source PACKAGE [COMMAND…]: unpack into $APPS/src/PACKAGE and run COMMAND there, once.
fetch__source() (
	local package=$1 dir=$APPS/src/$1
	shift
	exec 9>"$APPS/lock"
	flock 9
	[ -e "$dir" ] && return
	fetch__index
	rm -rf "$dir.new"
	mkdir -p "$dir.new"
	cd "$dir.new" || return
	fetch__apt source --download-only "$package" >&2
	dpkg-source --no-check -x ./*.dsc tree >/dev/null
	cd tree || return
	exec 8>&2
	set -E
	trap 'echo "Error: preparing $package failed, see $dir.log" >&8' ERR
	"${@:-true}" >"$dir.log" 2>&1
	mv "$dir.new/tree" "$dir"
	rm -rf "$dir.new"
)
