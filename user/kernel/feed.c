// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <sched.h>

#include <bpf/bpf.h>

#include "feed.h"

int halo_feed__run(int prog, uint32_t first, uint32_t n, uint32_t filter)
{
	struct halo_feed_args args;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &args, .ctx_size_in = sizeof(args));
	int err;

	while (n) {
		args = (struct halo_feed_args){.first = first, .nr = n, .filter = filter};
		opts.retval = 0;
		err = bpf_prog_test_run_opts(prog, &opts);
		if (err)
			return err;
		first += args.done;
		n -= args.done;
		err = (int)opts.retval;
		if (err && err != -EBUSY)
			return err;
		if (err)
			sched_yield();
	}
	return 0;
}
