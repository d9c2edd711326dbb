// SPDX-License-Identifier: BSD-2-Clause
/* Correlation coefficients between the columns of a table of measurements. */
#include <math.h>

#include "kernel.h"

#define ROWS 260
#define COLS 240

static double data[ROWS][COLS];
static double corr[COLS][COLS];
static double mean[COLS], deviation[COLS];

void normalize(void)
{
	for (int j = 0; j < COLS; j++) {
		mean[j] = 0;
		for (int i = 0; i < ROWS; i++)
			mean[j] += data[i][j];
		mean[j] /= ROWS;
	}
	for (int j = 0; j < COLS; j++) {
		deviation[j] = 0;
		for (int i = 0; i < ROWS; i++)
			deviation[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
		deviation[j] = sqrt(deviation[j] / ROWS);
		if (deviation[j] < 1e-9)
			deviation[j] = 1;
	}
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLS; j++)
			data[i][j] = (data[i][j] - mean[j]) / (sqrt(ROWS) * deviation[j]);
}

void correlate(void)
{
	for (int a = 0; a < COLS; a++) {
		corr[a][a] = 1;
		for (int b = a + 1; b < COLS; b++) {
			double sum = 0;

			for (int i = 0; i < ROWS; i++)
				sum += data[i][a] * data[i][b];
			corr[a][b] = sum;
			corr[b][a] = sum;
		}
	}
}

double kernel__round(uint64_t round)
{
	double sum = 0;

	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLS; j++)
			data[i][j] = (double)((i * j + (int)(round % 97)) % 251) + i;
	normalize();
	correlate();
	for (int a = 0; a < COLS; a++)
		sum += corr[a][(a * 13 + 5) % COLS];
	return sum;
}
