// SPDX-License-Identifier: BSD-2-Clause
// Trees of virtual nodes are evaluated; a division by zero deep inside is thrown, and caught above.
#include <memory>
#include <stdexcept>
#include <vector>

#include "kernel.h"

namespace
{

struct DivisionByZero : std::runtime_error {
	explicit DivisionByZero(int where) : std::runtime_error("division by zero"), place(where)
	{
	}
	int place;
};

struct Node {
	virtual ~Node() = default;
	virtual int64_t eval(const std::vector<int64_t> &inputs) const = 0;
};

using NodePtr = std::unique_ptr<Node>;

struct Constant : Node {
	explicit Constant(int64_t v) : value(v)
	{
	}
	int64_t eval(const std::vector<int64_t> &) const override
	{
		return value;
	}
	int64_t value;
};

struct Input : Node {
	explicit Input(size_t i) : index(i)
	{
	}
	int64_t eval(const std::vector<int64_t> &inputs) const override
	{
		return inputs[index];
	}
	size_t index;
};

struct Binary : Node {
	Binary(NodePtr l, NodePtr r) : left(std::move(l)), right(std::move(r))
	{
	}
	NodePtr left, right;
};

struct Add : Binary {
	using Binary::Binary;
	int64_t eval(const std::vector<int64_t> &inputs) const override
	{
		return (left->eval(inputs) + right->eval(inputs)) % 1000003;
	}
};

struct Multiply : Binary {
	using Binary::Binary;
	int64_t eval(const std::vector<int64_t> &inputs) const override
	{
		return left->eval(inputs) * right->eval(inputs) % 1000003;
	}
};

struct Divide : Binary {
	Divide(NodePtr l, NodePtr r, int where) : Binary(std::move(l), std::move(r)), place(where)
	{
	}
	int64_t eval(const std::vector<int64_t> &inputs) const override
	{
		int64_t divisor = right->eval(inputs) % 512;

		if (divisor == 0)
			throw DivisionByZero(place);
		return left->eval(inputs) / divisor;
	}
	int place;
};

constexpr size_t INPUTS = 8;

NodePtr grow(int depth, uint32_t &seed)
{
	seed = seed * 1664525u + 1013904223u;
	uint32_t pick = seed >> 24;

	if (depth == 0) {
		if (pick < 64)
			return std::make_unique<Constant>(pick + 1);
		return std::make_unique<Input>(pick % INPUTS);
	}
	NodePtr left = grow(depth - 1, seed);
	NodePtr right = grow(depth - 1, seed);
	if (pick < 120)
		return std::make_unique<Add>(std::move(left), std::move(right));
	if (pick < 240)
		return std::make_unique<Multiply>(std::move(left), std::move(right));
	return std::make_unique<Divide>(std::move(left), std::move(right), static_cast<int>(pick));
}

} // namespace

int64_t evaluate(const std::vector<NodePtr> &trees, const std::vector<int64_t> &inputs)
{
	int64_t sum = 0;

	for (const NodePtr &tree : trees) {
		try {
			sum += tree->eval(inputs);
		} catch (const DivisionByZero &error) {
			sum -= error.place;
		}
	}
	return sum;
}

static std::vector<NodePtr> trees;
static std::vector<int64_t> inputs(INPUTS);
static uint32_t seed = 7;

void kernel__setup(void)
{
	for (int i = 0; i < 24; i++)
		trees.push_back(grow(6, seed));
}

double kernel__round(uint64_t)
{
	int64_t sum = 0;

	for (int i = 0; i < 100; i++) {
		for (int64_t &input : inputs) {
			seed = seed * 1664525u + 1013904223u;
			input = seed >> 16;
		}
		sum += evaluate(trees, inputs);
	}
	return static_cast<double>(sum);
}
