// SPDX-License-Identifier: BSD-2-Clause
#include "kernel.h"
#include "program.h"

int main(int argc, char **argv)
{
	struct program run;

	program__begin(&run, argc, argv);
	if (kernel__setup)
		kernel__setup();
	while (program__next(&run))
		program__add(&run, kernel__round(run.round));
	return program__end(&run);
}
