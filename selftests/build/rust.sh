#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A Rust program: rustc writes bitcode, halo-cc prepares it.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../prepared.sh"

src=$SELFTESTS_DIR/build/rust
rustc=${RUSTC:-/usr/bin/rustc}
need_built "$HALO_BPF" "$BUILD_DIR/halo-opt" "$HALO_CC"
need_root
[ -x "$rustc" ] || skip_all "there is no $rustc (apt-get install rustc)"
std=$(find /usr/lib/x86_64-linux-gnu -maxdepth 1 -name 'libstd-*.so' | head -1)
[ -n "$std" ] || skip_all "Rust's library is not there as a shared one"
work_dir
cd "$WORK"

seq 1 500 | sed 's/.*7/seven &/' >input
"$rustc" -O -C prefer-dynamic "$src/words.rs" -o words.plain
./words.plain 50 <input >expected 2>/dev/null

built()
{
	"$rustc" -O -C codegen-units=1 --emit=llvm-bc=words.bc "$src/words.rs"
	"$HALO_CC" -O2 -Wno-override-module words.bc "$std" -o words
	./words 50 <input 2>/dev/null | cmp - expected
	has_slots words 5
}
check "bitcode of rustc is prepared" built

switched()
{
	"$HALO_BPF" torture -j --hold --seed 1 --report report ./words 50 <input 2>/dev/null >out
	cat report
	cmp out expected
	[ "$(jq '.compiled >= 3 and (.failed | length) == 0' report)" = true ]
	[ "$(jq '.entered.variant > 0' report)" = true ]
}
check "its functions are switched" switched

tap_done
