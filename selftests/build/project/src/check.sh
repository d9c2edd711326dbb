#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# check.sh PROGRAM: the project's own test.
seq 1 400 | sed 's/\(.*\)7$/seven \1 of them/; s/^399$/no!/' | "${1:-./words}" | cksum >words.sum
echo '3429261983 5297' | cmp - words.sum
