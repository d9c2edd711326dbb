#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every two of the ways in which a program may be built, together in some build; the program prints what it
# should, carries what it should, and some run with all their functions switched.
# All ways with each other: long/matrix.sh.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../prepared.sh"
. "$(dirname "$0")/matrix/lib.sh"
need_built "$HALO_BPF" "$HALO_CC" "$HALO_CXX" "$BUILD_DIR/halo-prepare.so"
work_dir
cd "$WORK"
matrix_expected

rows()
{
	{
		echo "language $MATRIX_LANGUAGES"
		echo "level $MATRIX_LEVELS"
		echo "kind $MATRIX_KINDS"
		echo "linker $MATRIX_LINKERS"
		echo "way $MATRIX_WAYS"
		echo "joint $MATRIX_JOINTS"
		echo "sanitizers $MATRIX_SANITIZERS"
		echo "lto $MATRIX_LTO"
		for option in $MATRIX_OPTIONS; do
			echo "option - $option"
		done
	} | awk -f "$matrix/pairs.awk"
}

n=0
while read -r row; do
	check "$row" matrix_check "$row"
	n=$((n + 1))
	matrix_row "$row"
	if [ "$(id -u)" -eq 0 ] && [ $((n % 4)) = 0 ] && [ "$sanitizers" = none ] && [[ $joint != plain-* ]]; then
		check "and switched" matrix_switch
	fi
done < <(rows)
tap_done
