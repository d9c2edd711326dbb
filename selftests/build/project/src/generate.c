// SPDX-License-Identifier: BSD-2-Clause
/* Runs while the project is built: prints the table that the library is compiled with. */
#include <stdio.h>

int main(void)
{
	printf("const unsigned int crc_table[256] = {\n");
	for (unsigned int i = 0; i < 256; i++) {
		unsigned int c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
		printf("\t0x%08xu,\n", c);
	}
	printf("};\n");
	return 0;
}
