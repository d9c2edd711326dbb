// SPDX-License-Identifier: BSD-2-Clause
// Exceptions that pass through a loop, and such that are caught around it.
#include <cstdio>
#include <stdexcept>
#include <vector>

static volatile int limit = 30000;

[[gnu::noinline]] static int check(int i)
{
	if (i == limit)
		throw std::runtime_error("limit");
	return i & 7;
}

// No destructor runs here, so nothing is caught in it.
static int passing(int n)
{
	int sum = 0;

	for (int k = 0; k < 10; k++)
		for (int i = 0; i < n; i++)
			sum += check(i + k);
	return sum;
}

static int caught(int n)
{
	std::vector<int> seen;
	int sum = 0;

	for (int i = 0; i < n; i++) {
		try {
			sum += check(i + 29990);
		} catch (const std::runtime_error &) {
			seen.push_back(i);
		}
	}
	return sum + (int)seen.size() * 1000;
}

int main()
{
	try {
		std::printf("passing %d\n", passing(40000));
	} catch (const std::exception &e) {
		std::printf("passing: %s\n", e.what());
	}
	std::printf("caught %d\n", caught(40000));
}
