#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# image.sh FILE: an ext4 image that a kernel can boot from alone: a shell, the commands that the tests
# use, what was built and the tests in /halo, and all shared libraries of these. Needs no privilege.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SOURCE_DIR=$(realpath "$HERE/../..")
BUILD_DIR=$(realpath -m "${BUILD:-$SOURCE_DIR/build}")
LIB=/usr/lib/x86_64-linux-gnu
LOADER=/usr/lib64/ld-linux-x86-64.so.2
SLACK_MB=64 # free space in the image

# The commands that the tests call, under their own names; busybox stands in for all others.
commands=(
	awk base64 basename bash bpftool busybox cat chmod chown cmp cp cut date dd diff dirname env expr false
	find getent grep head id install jq kill ld.lld-19 ln ls mkdir mkfifo mknod mktemp mount mountpoint
	mv nm nproc od paste printf ps realpath rm rmdir sed seq setpriv sleep sort stat stdbuf strings
	sync tail tee timeout touch tr true truncate umount uname uniq unshare wc xargs
)
# Of what was built.
built=(
	halo-bpf halo-opt programs/halo selftests/bpf selftests/e2e selftests/kernel selftests/lbr selftests/unwind vm/guest
)

out=$1
mkdir -p "$(dirname "$out")" "$BUILD_DIR/vm/guest"
inputs=("$SOURCE_DIR/selftests" "$SOURCE_DIR/knobs")
for name in "${built[@]}"; do
	inputs+=("$BUILD_DIR/$name")
done
# Folders too: a file that was taken away makes its folder newer.
[ ! -e "$out" ] || [ -n "$(find "${inputs[@]}" -newer "$out" -print -quit)" ] || exit 0
tree=$BUILD_DIR/vm/tree
mkdir -p "$tree"/{dev,proc,sys,run,tmp,root,etc,var/lib,usr/bin,usr/sbin,"$LIB",usr/lib64,halo/build}
ln -sfT usr/bin "$tree/bin"
ln -sfT usr/sbin "$tree/sbin"
ln -sfT usr/lib "$tree/lib"
ln -sfT usr/lib64 "$tree/lib64"
printf 'root:x:0:0::/root:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n' >"$tree/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$tree/etc/group"

paths=()
for name in "${commands[@]}"; do
	paths+=("$(type -P "$name")") || { echo "image.sh: there is no $name here" >&2 && exit 1; }
done
cp -uL -t "$tree/usr/bin" "${paths[@]}"
ln -sfT bash "$tree/usr/bin/sh"

rm -rf "$tree/halo/selftests"
cp -r --preserve=mode "$SOURCE_DIR/selftests" "$SOURCE_DIR/knobs" "$tree/halo/"
(cd "$BUILD_DIR" && cp -ru --parents --preserve=mode,timestamps -t "$tree/halo/build" "${built[@]}")

# Each library once, wherever its users would look for it.
mapfile -t programs < <(find "$tree/halo/build" -type f -perm -1 && printf '%s\n' "${paths[@]}")
mapfile -t libraries < <(ldd "${programs[@]}" 2>/dev/null | grep -oE '/[^ ]+\.so[^ ]*' |
	grep -v "^$BUILD_DIR" | sort -u | awk -F/ '!seen[$NF]++' || true)
cp -uL -t "$tree/$LIB" "${libraries[@]}"
cp -uL "$LOADER" "$tree$LOADER"
# What images are linked with.
for file in /usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.builtins-*.a; do
	[ ! -e "$file" ] || cp -uL --parents "$file" "$tree"
done
install -m 755 "$HERE/guest/init" "$tree/init"

mb=$(($(du -sm --apparent-size "$tree" | cut -f1) * 11 / 10 + SLACK_MB))
rm -f "$out.new"
truncate -s "${mb}M" "$out.new"
mke2fs -q -t ext4 -O ^has_journal,^metadata_csum -E root_owner=0:0,lazy_itable_init=1 -d "$tree" "$out.new"
mv "$out.new" "$out"
