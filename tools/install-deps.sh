#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Install through apt-get the packages that building, testing and the demo need and that are missing.
set -euo pipefail

packages=(
	autoconf automake bolt-19 bpftool busybox-static clang-19 cmake dpkg-dev e2fsprogs g++ gcc jq kmod
	libbpf-dev libcap-dev libclang-rt-19-dev libcmocka-dev libdebuginfod-dev libdw-dev libelf-dev libiberty-dev
	libjson-c-dev libmd-dev libseccomp-dev libtool libzstd-dev libzydis-dev lld-19 llvm-19-dev make
	meson ninja-build patchelf pkgconf protobuf-compiler qemu-system-x86 rustc strace zlib1g-dev
	debhelper gdb groff-base libsystemd-dev linux-perf lowdown man-db mmdebstrap systemd-container tmux zsh
)

missing=()
for package in "${packages[@]}"; do
	state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
	[ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "Error: packages are missing: ${missing[*]}" >&2
	echo "  remedy: run this as root (sudo $0)" >&2
	exit 1
fi
echo "Installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
