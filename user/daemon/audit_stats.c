// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit_stats.h"

/*
 * What part of the wealth is put at stake. The best stake depends on the effect's size against the
 * noise, which nobody knows beforehand: the average over all is at most a factor of
 * HALO_AUDIT_BETS behind the best.
 */
static const double stakes[HALO_AUDIT_BETS] = {0.1, 0.2, 0.4, 0.65, 0.95};

#define TAIL 0.025 /* on either side of the 95 % interval */

int halo_audit_stats__init(struct halo_audit_stats *s, unsigned int max_pairs)
{
	memset(s, 0, sizeof(*s));
	s->max_pairs = max_pairs;
	s->diffs = calloc(max_pairs, sizeof(*s->diffs));
	s->magnitudes = calloc(max_pairs, sizeof(*s->magnitudes));
	if (!s->diffs || !s->magnitudes) {
		halo_audit_stats__free(s);
		return -ENOMEM;
	}
	for (int i = 0; i < HALO_AUDIT_BETS; i++)
		s->better[i] = s->worse[i] = 1.0;
	s->better_peak = s->worse_peak = 1.0;
	return 0;
}

void halo_audit_stats__free(struct halo_audit_stats *s)
{
	free(s->diffs);
	free(s->magnitudes);
	s->diffs = s->magnitudes = NULL;
}

static void insert_sorted(double *sorted, unsigned int n, double value)
{
	unsigned int i = n;

	while (i > 0 && sorted[i - 1] > value)
		i--;
	memmove(&sorted[i + 1], &sorted[i], (n - i) * sizeof(*sorted));
	sorted[i] = value;
}

static double median_of(const double *sorted, unsigned int n)
{
	if (n == 0)
		return 0.0;
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Bet on @outcome, -1 to 1; returns the new average wealth. */
static double bet(double wealth[HALO_AUDIT_BETS], double outcome)
{
	double sum = 0.0;

	for (int i = 0; i < HALO_AUDIT_BETS; i++) {
		wealth[i] *= 1.0 + stakes[i] * outcome;
		sum += wealth[i];
	}
	return sum / HALO_AUDIT_BETS;
}

int halo_audit_stats__add(struct halo_audit_stats *s, double diff)
{
	double scale, outcome;

	if (s->pairs >= s->max_pairs)
		return -ENOSPC;
	insert_sorted(s->diffs, s->pairs, diff);
	insert_sorted(s->magnitudes, s->pairs, fabs(diff));
	s->pairs++;

	/* The scale knows this pair's magnitude too: the coin decides the sign only. */
	scale = median_of(s->magnitudes, s->pairs);
	if (fabs(diff) >= scale)
		outcome = (diff > 0) - (diff < 0);
	else
		outcome = diff / scale;
	s->better_peak = fmax(s->better_peak, bet(s->better, outcome));
	s->worse_peak = fmax(s->worse_peak, bet(s->worse, -outcome));
	return 0;
}

double halo_audit_stats__median(const struct halo_audit_stats *s)
{
	return median_of(s->diffs, s->pairs);
}

bool halo_audit_stats__interval(const struct halo_audit_stats *s, double *low, double *high)
{
	double n = s->pairs, below = 0.0;
	unsigned int k = 0;

	/* The largest k such that fewer than k of n fair coins show heads at most TAIL of the time. */
	while (k < s->pairs / 2) {
		below += exp(lgamma(n + 1) - lgamma(k + 1.0) - lgamma(n - k + 1) - n * M_LN2);
		if (below > TAIL)
			break;
		k++;
	}
	if (k == 0)
		return false;
	*low = s->diffs[k - 1];
	*high = s->diffs[s->pairs - k];
	return true;
}
