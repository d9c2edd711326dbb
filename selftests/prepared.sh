# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# For tests of what halo-cc makes, behind lib.sh: one check per function, and readers of tables that
# owe nothing to our own.

# check TEXT COMMAND...: one test, which passes if the command does.
check()
{
	local text=$1 status
	shift
	# Not as a condition, which would turn off errexit inside.
	set +e
	(
		trap - EXIT
		set -e
		"$@"
	) >log 2>&1
	status=$?
	set -e
	if ((status == 0)); then
		tap_ok "$text"
	else
		tap_not_ok "$text" "$(head -20 log)"
	fi
}

# no COMMAND...: fails if the command succeeds ("!" is no failure to errexit).
no()
{
	if "$@"; then
		return 1
	fi
}

# Table contents, one row per line, fields in decimal. Rows of 32 bytes are four words.
rows()
{
	objcopy --dump-section "$2=dump" "$1" /dev/null
	od -An -v -t u8 -w32 dump
}

stub_word()
{
	objcopy --dump-section .halo.stub=dump "$1" /dev/null
	od -An -v -t u8 -w8 dump | sed -n "$(($2 + 1))p" | tr -d ' '
}

has_slots()
{
	local first end addr slot count=0
	first=$(($(stub_word "$1" 2) + 2 * 4096))
	end=$(stub_word "$1" 3)
	((first % 4096 == 0 && end % 4096 == 0 && first <= end)) || return 1
	while read -r addr slot _; do
		((addr != 0)) || return 1
		((slot == 0)) && continue
		((slot >= first && slot < end && slot % 8 == 0)) || return 1
		count=$((count + 1))
	done < <(rows "$1" .halo.func)
	echo "$count slots"
	((count >= $2))
}

has_entry()
{
	objdump -d --no-show-raw-insn --disassemble="$2" "$1" | grep -A2 "<$2>:" |
		grep -q 'jmp  *\*.*(%rip)'
}

# The names in all tables.
names()
{
	objcopy --dump-section .halo.str=dump "$1" /dev/null
	tr '\0' '\n' <dump | sort
}
