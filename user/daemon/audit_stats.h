/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_DAEMON_AUDIT_STATS_H
#define HALO_DAEMON_AUDIT_STATS_H

/*
 * Sequential test and estimates over the pairs of an audit. Each pair yields one difference
 * d = log(old cost / new cost). A fair coin of our own decided which arm came first, so where there
 * is no difference the sign of d is a fair coin given |d| and all that came before, whatever the
 * distribution and however the program drifts. Betting on that coin can't be won by chance: that
 * wealth ever reaches W has probability 1/W at most, and so the test may be looked at all the time.
 */
#include <stdbool.h>

#define HALO_AUDIT_BETS 5 /* stakes that run side by side */

struct halo_audit_stats {
	unsigned int pairs, max_pairs;
	double *diffs;						/* sorted */
	double *magnitudes;					/* |d|, sorted */
	double better[HALO_AUDIT_BETS], worse[HALO_AUDIT_BETS]; /* wealth of each stake */
	double better_peak, worse_peak; /* highest wealth so far, averaged over the stakes */
};

/* 0 or -ENOMEM. */
int halo_audit_stats__init(struct halo_audit_stats *s, unsigned int max_pairs);
void halo_audit_stats__free(struct halo_audit_stats *s);

/* Add a pair's difference, a finite number. -ENOSPC: there are max_pairs already. */
int halo_audit_stats__add(struct halo_audit_stats *s, double diff);

/* Median of the differences; 0 when there is none. */
double halo_audit_stats__median(const struct halo_audit_stats *s);

/* 95 % interval of the median, from order statistics. False: too few pairs (under 6). */
bool halo_audit_stats__interval(const struct halo_audit_stats *s, double *low, double *high);

#endif
