// SPDX-License-Identifier: BSD-2-Clause
// Objects live once: constructors, destructors, guards and atexit() as without variants, and two units
// each with a "__tls_init", a "helper" and a "Local" of its own.
#include <cstdio>
#include <cstdlib>
#include <pthread.h>

#include "lifetime.h"

namespace
{

// Prints only in the end, so it must be made before what it tells of.
int made, ended;

struct Local {
	long value;
	explicit Local(long v) : value(v)
	{
		made++;
	}
	~Local()
	{
		ended++;
	}
};

SEM_NOINLINE long helper(int n)
{
	long sum = 0;

	SEM_HERE("lifetime.helper");
	for (int i = 0; i < n; i++)
		sum += i * 3;
	return sum;
}

Local global(helper(4));
thread_local Local in_thread(helper(5));
thread_local long plain_in_thread = 11;

} // namespace

thread_local Counted shared_in_thread(7);
int counted_made, counted_ended;

SEM_NOINLINE static long use_globals(int n)
{
	long sum = 0;

	SEM_HERE("use_globals");
	for (int i = 0; i < n; i++)
		sum += global.value + in_thread.value + plain_in_thread + shared_in_thread.value;
	return sum;
}

SEM_NOINLINE static long guarded(int n)
{
	static Local first(helper(n));
	static const long second = helper(n + 1) + n;
	long sum = 0;

	SEM_HERE("guarded");
	for (int i = 0; i < n; i++)
		sum += first.value * i + second;
	return sum;
}

SEM_NOINLINE static long local_objects(int n)
{
	long sum = 0;

	SEM_HERE("local_objects");
	for (int i = 0; i < n; i++) {
		Local one(i);
		static thread_local Local each(3);

		sum += one.value + each.value;
	}
	return sum;
}

static void *thread(void *)
{
	long sum = use_globals(5) + local_objects(3) + lifetime_other(4);

	return reinterpret_cast<void *>(sum);
}

static void at_the_end()
{
	printf("atexit: %ld\n", global.value);
	fflush(stdout);
}

SEM_NOINLINE static void register_once(int n)
{
	static bool done;

	for (int i = 0; i < n; i++)
		if (!done) {
			atexit(at_the_end);
			done = true;
		}
}

SEM_CASE_LAST(lifetime,
	      [] { sem_print("guarded made once: %ld, globals %d\n", guarded(3), made > 0); })
{
	int made_before, ended_before, counted_before = 0;
	pthread_t id;
	void *got;

	register_once(2);
	guarded(3);
	local_objects(1);
	use_globals(1);
	lifetime_other(1);
	made_before = made, ended_before = ended, counted_before = counted_made - counted_ended;
	sem_print("  %ld %ld %ld %ld\n", use_globals(9), guarded(5), local_objects(8),
		  lifetime_other(6));
	pthread_create(&id, nullptr, thread, nullptr);
	pthread_join(id, &got);
	sem_print("  %ld\n", reinterpret_cast<long>(got));
	sem_print("  %d %d %d\n", made - made_before, ended - ended_before,
		  counted_made - counted_ended - counted_before);
}
