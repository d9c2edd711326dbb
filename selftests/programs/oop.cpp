// SPDX-License-Identifier: BSD-2-Clause
// Small classes and many calls, as object-oriented code is before it is inlined: iterators, accessors,
// operators on complex numbers and matrices, all behind calls at -O1.
#include <cstddef>

#include "kernel.h"

namespace oop
{

class Complex
{
      public:
	Complex(double re, double im) : re_(re), im_(im)
	{
	}
	double re() const
	{
		return re_;
	}
	double im() const
	{
		return im_;
	}
	Complex operator*(const Complex &o) const
	{
		return Complex(re_ * o.re() - im_ * o.im(), re_ * o.im() + im_ * o.re());
	}
	Complex operator+(const Complex &o) const
	{
		return Complex(re_ + o.re(), im_ + o.im());
	}

      private:
	double re_, im_;
};

constexpr int SIZE = 40;

class Matrix
{
      public:
	double &at(int row, int col)
	{
		return cells_[index(row, col)];
	}
	int index(int row, int col) const
	{
		return row * SIZE + col;
	}

      private:
	double cells_[SIZE * SIZE];
};

class Iterator
{
      public:
	virtual ~Iterator() = default;
	virtual bool done() const = 0;
	virtual double next() = 0;
};

class RowIterator : public Iterator
{
      public:
	RowIterator(Matrix &m, int row) : matrix_(m), row_(row)
	{
	}
	bool done() const override
	{
		return col_ >= SIZE;
	}
	double next() override
	{
		return matrix_.at(row_, col_++);
	}

      private:
	Matrix &matrix_;
	int row_, col_ = 0;
};

double sum(Iterator &it)
{
	double total = 0;

	while (!it.done())
		total += it.next();
	return total;
}

Complex power(Complex z, int n)
{
	Complex result(1, 0);

	for (int i = 0; i < n; i++)
		result = result * z + Complex(0.0001 * i, -0.0001);
	return result;
}

Matrix matrix;

void fill(uint64_t round)
{
	for (int row = 0; row < SIZE; row++)
		for (int col = 0; col < SIZE; col++)
			matrix.at(row, col) = static_cast<double>((row * 7 + col + round) % 11);
}

} // namespace oop

using namespace oop;

double kernel__round(uint64_t round)
{
	double total = 0;

	fill(round);
	for (int row = 0; row < SIZE; row++) {
		RowIterator it(matrix, row);

		total += sum(it);
	}
	for (int i = 0; i < 300; i++) {
		Complex z = power(Complex(0.9, 0.001 * (i % 100)), 20);

		total += z.re() - z.im();
	}
	return total;
}
