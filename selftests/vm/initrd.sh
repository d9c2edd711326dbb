#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# initrd.sh FOLDER: where the kernel in there has the disk's driver or the filesystem as a module, make
# FOLDER/initrd, which loads them and goes on with the disk. Cloud kernels have both built in.
set -euo pipefail

folder=$1
config=$folder/config
[ -e "$config" ] && grep -q '^CONFIG_BLK_DEV_NVME=m' "$config" || exit 0
[ ! "$folder/initrd" -nt "$folder/vmlinuz" ] || exit 0
release=$(<"$folder/release")
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
[ -e "$folder/modules/$release/modules.dep" ] || depmod -b "$folder/root" "$release"

mkdir -p "$tree"/{bin,dev,modules,root}
cp "$(type -P busybox)" "$tree/bin/busybox"
ln -s busybox "$tree/bin/sh"
order=()
for module in nvme ext4 crc32c_generic; do
	for file in $(modprobe -d "$folder/root" -S "$release" -D "$module" 2>/dev/null | sed -n 's/^insmod \([^ ]*\).*/\1/p'); do
		[ ! -e "$tree/modules/$(basename "$file")" ] || continue
		cp "$file" "$tree/modules/"
		order+=("/modules/$(basename "$file")")
	done
done
{
	echo '#!/bin/sh'
	echo 'export PATH=/bin'
	echo '/bin/busybox --install -s /bin'
	echo 'mount -t devtmpfs dev /dev'
	printf 'insmod %s\n' "${order[@]}"
	echo 'until [ -e /dev/nvme0n1 ]; do sleep 0.1; done'
	echo 'mount -t ext4 /dev/nvme0n1 /root'
	echo 'umount /dev'
	echo 'exec switch_root /root /init'
} >"$tree/init"
chmod +x "$tree/init"
(cd "$tree" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$folder/initrd.new"
mv "$folder/initrd.new" "$folder/initrd"
