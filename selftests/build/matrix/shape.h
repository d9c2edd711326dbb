/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MATRIX_SHAPE_H
#define MATRIX_SHAPE_H

struct Shape {
	virtual ~Shape()
	{
	}
	virtual long area(int n) const = 0;
};

inline int shared_count()
{
	static int n = 40;
	int step = 0;

	for (int i = 0; i < n % 5 + 1; i++)
		step += i * i % 3 + (n ^ i) % 2;
	return n += step + 1;
}

const Shape *circle();
long throws(int i, int n);
int made();
int other_count();
int (*count_address())();

#endif
