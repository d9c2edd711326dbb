// SPDX-License-Identifier: BSD-2-Clause
/* What profiles tell about: branches of which one is rare, a call that mostly has one target, sizes. */
#include <string.h>

#include "work.h"

uint64_t twice(uint64_t x)
{
	return x * 2;
}

uint64_t square(uint64_t x)
{
	return x * x + 1;
}

uint64_t seldom(uint64_t x)
{
	uint64_t sum = x;

	for (int i = 0; i < 5; i++)
		sum = (sum ^ (sum >> 7)) * 0x9e3779b97f4a7c15ULL;
	return sum;
}

transform transforms[] = {twice, square};

/* Noinline, so that the copies' sizes stay values. */
__attribute__((noinline)) uint64_t copy(unsigned char *to, const unsigned char *from, size_t n)
{
	memcpy(to, from, n);
	return to[n / 2];
}

uint64_t work(uint64_t seed)
{
	unsigned char from[64], to[64];
	uint64_t sum = seed;

	memset(from, (int)seed, sizeof(from));
	for (uint64_t i = 0; i < 1000; i++) {
		transform f = transforms[i % 16 == 3];

		sum = sum * 6364136223846793005ULL + i;
		sum += f(sum);
		if (sum >> 58 == 0)
			sum += seldom(sum);
		/* Hardly ever. */
		if (sum < 3) {
			for (size_t k = 0; k < sizeof(from); k++)
				to[k] = (unsigned char)(from[k] ^ (sum >> k % 8));
			sum ^= copy(from, to, sizeof(from));
		}
		switch (i % 32) {
		case 0:
			sum ^= copy(to, from, 24);
			break;
		case 1:
			sum ^= 0xff;
			break;
		default:
			sum ^= copy(to, from, 8);
		}
	}
	return sum;
}
