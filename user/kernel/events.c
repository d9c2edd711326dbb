// SPDX-License-Identifier: BSD-2-Clause
/* Events of processes, from the ring buffer to the daemon. */
#define LOG_TAG "kernel"
#include "../lib/log.h"
#include "internal.h"

static int deliver(void *ctx, void *data, size_t size)
{
	struct halo_kernel *k = ctx;

	if (size >= sizeof(struct halo_event))
		k->on_event(k->event_ctx, data);
	return 0;
}

int halo_events__open(struct halo_kernel *k, struct halo_err *err)
{
	int ret;

	if (!k->on_event)
		return 0;
	k->events = ring_buffer__new(bpf_map__fd(k->skel->maps.halo_events), deliver, k, NULL);
	if (k->events)
		return 0;
	ret = -errno;
	return halo_err__set(err, ret, "Can't read the ring buffer of events: %m");
}

int halo_kernel__event_fd(const struct halo_kernel *k)
{
	return k->events ? ring_buffer__epoll_fd(k->events) : -1;
}

int halo_kernel__poll(struct halo_kernel *k)
{
	int n = k->events ? ring_buffer__consume(k->events) : 0;

	return n < 0 ? n : 0;
}
