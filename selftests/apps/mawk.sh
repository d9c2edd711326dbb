# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# mawk: sums over a web server's access log.

app_fetch() {
	fetch__source mawk prepare_mawk
}

prepare_mawk() {
	CC=clang-19 ./configure
	make scancode.c
}

app_build() {
	local dir files
	dir=$(src mawk)
	files=(array bi_funct bi_vars cast code da error execute fcall field files fin hash init jmp
		kw main matherr memory parse print re_cmpl regexp scan scancode split version zmalloc)
	files=("${files[@]/#/$dir/}")

	compile "$1" "$3 -I$dir -DHAVE_CONFIG_H" "$4" "${files[@]/%/.c}"
	link "$1" "$3" "$4" "$5" -lm
}

app_input() {
	once "$1/access.log" generate log 300000
	cat >"$1/sums.awk" <<'AWK'
{
	split($7, part, "?")
	bytes[part[1]] += $NF
	hits[$(NF - 1)]++
	if ($7 ~ /page1[0-9]*\.html.id=[0-9]*7$/)
		matched++
	gsub(/[0-9]+/, "N", $4)
	length_sum += length($0)
}
END {
	for (page in bytes)
		sum = (sum + bytes[page] * length(page)) % 1000003
	print sum, matched, length_sum, hits[200], hits[304], hits[404], hits[500]
}
AWK
}

app_run() {
	"$1" -f "$2/sums.awk" "$2/access.log"
}

app_loop() {
	exec "$1" -f "$2/sums.awk" < <(endless "$2/access.log")
}
