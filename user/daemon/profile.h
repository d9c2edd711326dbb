/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_PROFILE_H
#define HALO_PROFILE_H

/*
 * Where a program spends its time: samples per link-time address, with exponential decay in time, so
 * that what no longer runs is forgotten at the same pace whatever the sampling rate is.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HALO_PROFILE_HALF_LIFE_S 5.0
#define HALO_PROFILE_MAX	 65536 /* addresses kept; more are dropped and counted */

struct halo_profile;

struct halo_profile *halo_profile__new(void);
void halo_profile__free(struct halo_profile *p);

/* Age everything to @now_ns. Time that goes backwards is taken as standing still. */
void halo_profile__decay(struct halo_profile *p, uint64_t now_ns);

/*
 * Add @count samples at @vaddr. @variant: they were taken in an image, and @vaddr is the source
 * function's original address; they are hot but need no section. false: the table is full.
 */
bool halo_profile__add(struct halo_profile *p, uint64_t vaddr, double count, bool variant);

/* Samples outside of the program's own code (libraries, kernel): they count in the total alone. */
void halo_profile__add_outside(struct halo_profile *p, double count);

/* Decayed totals: all samples, and those in the program's own code and images. */
double halo_profile__total(const struct halo_profile *p);
double halo_profile__inside(const struct halo_profile *p);
uint64_t halo_profile__dropped(const struct halo_profile *p);

/* Call fn for every address. @own: samples in the shipped code; @variant: in images. */
typedef void (*halo_profile_fn)(void *ctx, uint64_t vaddr, double own, double variant);
void halo_profile__each(const struct halo_profile *p, halo_profile_fn fn, void *ctx);

#endif
