// SPDX-License-Identifier: BSD-2-Clause
#include "figures.h"

const struct halo_figure halo_figures[HALO_FIGURES_MAX] = {
#define FIGURE(name, member, of, text) [HALO_STAT_##name] = {#member, text, HALO_STAT_##of},
	HALO_STATS(FIGURE)
#undef FIGURE
#define FIGURE(name, member, of, text) [HALO_CHECK_##name] = {#member, text, HALO_STAT_##of},
		HALO_CHECKS(FIGURE)
#undef FIGURE
};
