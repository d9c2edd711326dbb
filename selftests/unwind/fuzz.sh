#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Mutated files and random stacks: see fuzz.c. And tables that stay within their bounds.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_built "$BUILD_DIR/selftests/unwind/fuzz" "$BUILD_DIR/selftests/unwind/tables"
work_dir
printf 'int f(int n) { return n ? f(n - 1) + 1 : 0; }\nint main(int c, char **v) { return v ? f(c) : 0; }\n' \
	>"$WORK/a.c"
gcc -O1 -g -o "$WORK/a" "$WORK/a.c"

rounds=300
[ -z "${HALO_LONG:-}" ] || rounds=20000
tap_run "mutated files and random stacks do no harm" \
	"$BUILD_DIR/selftests/unwind/fuzz" "$rounds" "$WORK/a"

libc=$(ldd "$WORK/a" | awk '/libc.so/ { print $3 }')
output=$("$BUILD_DIR/selftests/unwind/tables" "$libc" 2>&1) || true
tap_like "the table of the C library is below a tenth of its text, nothing malformed in it" \
	' [0-9]\.[0-9]+ % of text.* 0 malformed, 0 unknown' "$output"

# Without section headers, by PT_GNU_EH_FRAME, the table is the same.
functions() {
	"$BUILD_DIR/selftests/unwind/tables" "$1" | sed 's/.*, \([0-9]* functions\),.*/\1/'
}
cp "$WORK/a" "$WORK/bare"
printf '\0\0\0\0\0\0\0\0' | dd of="$WORK/bare" bs=1 seek=40 conv=notrunc status=none
printf '\0\0\0\0\0\0' | dd of="$WORK/bare" bs=1 seek=58 conv=notrunc status=none
tap_is "a file without section headers has the same functions" "$(functions "$WORK/a")" \
	"$(functions "$WORK/bare")"

gcc -O1 -g -fno-asynchronous-unwind-tables -fno-unwind-tables -nostdlib -nostartfiles -static \
	-Wl,-e,main -o "$WORK/debug" "$WORK/a.c"
tap_like "where there is only .debug_frame, that is taken" '^2 functions' "$(functions "$WORK/debug")"

tap_done
