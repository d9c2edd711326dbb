# SPDX-License-Identifier: BSD-2-Clause
# From lines "NAME VALUE…" rows of one value each, such that every two values of different names meet
# in a row: greedily, each row the best of a few at random. The same input gives the same rows.
{
	name[NR] = $1
	count[NR] = NF - 1
	for (i = 2; i <= NF; i++)
		value[NR, i - 1] = $i
}

function gain(row, i, j, n) {
	n = 0
	for (i = 1; i < NR; i++)
		for (j = i + 1; j <= NR; j++)
			n += !((i, row[i], j, row[j]) in met)
	return n
}

function random_row(row, i, pair, part) {
	for (i = 1; i <= NR; i++)
		row[i] = int(rand() * count[i]) + 1
	# One that has not met yet is in it.
	for (pair in todo) {
		split(pair, part, SUBSEP)
		row[part[1]] = part[2]
		row[part[3]] = part[4]
		break
	}
}

END {
	srand(7)
	for (i = 1; i < NR; i++)
		for (j = i + 1; j <= NR; j++)
			for (a = 1; a <= count[i]; a++)
				for (b = 1; b <= count[j]; b++)
					todo[i, a, j, b]
	while (length(todo)) {
		best = -1
		for (try = 0; try < 30; try++) {
			random_row(row)
			n = gain(row)
			if (n <= best)
				continue
			best = n
			for (i = 1; i <= NR; i++)
				chosen[i] = row[i]
		}
		line = ""
		for (i = 1; i <= NR; i++) {
			line = line (i > 1 ? " " : "") value[i, chosen[i]]
			for (j = i + 1; j <= NR; j++) {
				met[i, chosen[i], j, chosen[j]]
				delete todo[i, chosen[i], j, chosen[j]]
			}
		}
		print line
	}
}
