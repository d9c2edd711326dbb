// SPDX-License-Identifier: BSD-2-Clause
/* All of the work is in main(), which is entered once: primes by the sieve of Eratosthenes. */
#include <string.h>

#include "program.h"

#define LIMIT 1000000

int main(int argc, char **argv)
{
	static unsigned char composite[LIMIT];
	struct program run;

	program__begin(&run, argc, argv);
	while (program__next(&run)) {
		int limit = LIMIT - (int)(run.round % 1000);
		uint64_t sum = 0;

		memset(composite, 0, sizeof(composite));
		for (int i = 2; i < limit; i++) {
			if (composite[i])
				continue;
			sum += (uint64_t)i;
			for (int64_t j = (int64_t)i * i; j < limit; j += i)
				composite[j] = 1;
		}
		program__add(&run, (double)sum);
	}
	return program__end(&run);
}
