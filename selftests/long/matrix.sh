#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# build/matrix.sh in full: languages, levels, kinds, linkers, joints and link-time optimization, each with each;
# ways, sanitizers and options in turn. Rows that come to the same are built once.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../prepared.sh"
. "$(dirname "$0")/../build/matrix/lib.sh"
need_built "$HALO_BPF" "$HALO_CC" "$HALO_CXX" "$BUILD_DIR/halo-prepare.so"
work_dir
cd "$WORK"
matrix_expected

read -ra all_sanitizers <<<"$MATRIX_SANITIZERS"
read -ra all_ways <<<"$MATRIX_WAYS"
read -ra all_options <<<"$MATRIX_OPTIONS"
declare -A seen=()
n=0 i=0
for language in $MATRIX_LANGUAGES; do
	for kind in $MATRIX_KINDS; do
		for joint in $MATRIX_JOINTS; do
			for level in $MATRIX_LEVELS; do
				for linker in $MATRIX_LINKERS; do
					for lto in $MATRIX_LTO; do
						echo "$language $level $kind $linker ${all_ways[i++ % 5]} $joint none $lto"
					done
				done
			done
		done
	done
done >all_rows
while read -r row; do
	matrix_row "$row"
	key="$language $level $kind $linker $way $joint $lto"
	[ -z "${seen[$key]-}" ] || continue
	seen[$key]=1
	n=$((n + 1))
	chosen=()
	for ((i = 0; i < ${#all_options[@]}; i++)); do
		((n >> i & 1)) && chosen+=("${all_options[i]}")
	done
	row="$language $level $kind $linker $way $joint ${all_sanitizers[n % 3]} $lto ${chosen[*]}"
	check "$row" matrix_check "$row"
done <all_rows
tap_done
