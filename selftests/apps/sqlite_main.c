// SPDX-License-Identifier: BSD-2-Clause
/* SQLite's speed test with a mode that runs it for ever: the first argument is "loop". */
#define main speedtest1_main
#include "speedtest1.c"
#undef main

int main(int argc, char **argv)
{
	unsigned int done = 0;

	if (argc < 2 || strcmp(argv[1], "loop") != 0)
		return speedtest1_main(argc, argv);
	argv[1] = argv[0];
	while (speedtest1_main(argc - 1, argv + 1) == 0)
		fprintf(stderr, "work %u\n", ++done);
	return 1;
}
