/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/wait.h>
#include <time.h>

#include "attach_program.h"
#include "daemon/maps.h"

/* This very process is the program: its segments, read from the headers that are in memory. */
struct self {
	struct halo_prepared program;
	struct halo_segment segments[16];
	uint64_t bias;
};

static int note_segments(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct self *self = ctx;
	int i;

	(void)size;
	self->bias = info->dlpi_addr;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD)
			self->segments[self->program.n_segments++] = (struct halo_segment){
				ph->p_vaddr, ph->p_offset, ph->p_filesz, ph->p_memsz, ph->p_flags};
	}
	return 1; /* the first is the executable */
}

static void open_self(struct self *self)
{
	*self = (struct self){.program = {.fd = open("/proc/self/exe", O_RDONLY), .pic = true}};
	self->program.segments = self->segments;
	dl_iterate_phdr(note_segments, self);
	self->program.map_size = HALO_PAGE;
	self->program.map = mmap(NULL, HALO_PAGE, PROT_READ, MAP_PRIVATE, self->program.fd, 0);
	assert_ptr_not_equal(self->program.map, MAP_FAILED);
}

static void close_self(struct self *self)
{
	munmap((void *)self->program.map, HALO_PAGE);
	close(self->program.fd);
}

static void test_self(void **state)
{
	uint64_t here = (uint64_t)(uintptr_t)test_self, now;
	struct halo_layout layout;
	struct halo_err err = {0};
	struct timespec ts;
	struct self self;

	(void)state;
	open_self(&self);
	/* The file mapped once more is no reason to look for the program there. */
	assert_ptr_not_equal(
		mmap(NULL, HALO_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, self.program.fd, 0),
		MAP_FAILED);
	if (halo_layout__read(getpid(), &self.program, &layout, &err))
		fail_msg("%s", err.what);
	assert_int_equal(layout.bias, self.bias);
	assert_in_range(here, layout.text_start, layout.text_end - 1);
	assert_int_equal(layout.uid, geteuid());
	clock_gettime(CLOCK_BOOTTIME, &ts);
	now = ts.tv_sec * 1000000000ULL + ts.tv_nsec;
	assert_in_range(layout.start_ns, 1, now);
	close_self(&self);
}

static void test_other_file(void **state)
{
	struct halo_layout layout;
	struct self self;

	(void)state;
	open_self(&self);
	close(self.program.fd);
	self.program.fd = open("/proc/self/maps", O_RDONLY);
	assert_int_equal(halo_layout__read(getpid(), &self.program, &layout, NULL), -ESTALE);
	close_self(&self);
}

static void test_other_segments(void **state)
{
	struct halo_layout layout;
	struct self self;
	size_t i;

	(void)state;
	open_self(&self);
	for (i = 0; i < self.program.n_segments; i++)
		if (self.segments[i].flags & PF_X)
			self.segments[i].off += HALO_PAGE;
	assert_int_equal(halo_layout__read(getpid(), &self.program, &layout, NULL), -ENOEXEC);
	close_self(&self);
}

static void test_no_process(void **state)
{
	struct halo_layout layout;
	struct halo_err err = {0};
	struct self self;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	open_self(&self);
	waitpid(pid, NULL, 0);
	assert_int_equal(halo_layout__read(pid, &self.program, &layout, &err), -ESRCH);
	close_self(&self);
}

/* Names that a program chooses must not confuse the reader of its state. */
static void test_strange_name(void **state)
{
	struct halo_layout layout;
	struct halo_err err = {0};
	struct self self;
	uint64_t start;

	(void)state;
	open_self(&self);
	assert_int_equal(halo_layout__read(getpid(), &self.program, &layout, &err), 0);
	start = layout.start_ns;
	prctl(PR_SET_NAME, ") 1 (\nUid:\t1");
	assert_int_equal(halo_layout__read(getpid(), &self.program, &layout, &err), 0);
	assert_int_equal(layout.start_ns, start);
	assert_int_equal(layout.uid, geteuid());
	close_self(&self);
}

static void test_maps(void **state)
{
	const struct halo_map *m;
	struct halo_maps maps;
	void *page = mmap(NULL, HALO_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			  0);
	int proc = halo_proc__open(getpid(), NULL);

	(void)state;
	assert_int_equal(halo_maps__read(proc, &maps, NULL), 0);
	m = halo_maps__at(&maps, (uint64_t)page);
	assert_non_null(m);
	assert_true(m->shared);
	assert_int_equal(m->prot, PROT_READ | PROT_WRITE);
	assert_null(halo_maps__at(&maps, 0));
	halo_maps__free(&maps);
	close(proc);
}

static void test_rseq(void **state)
{
	(void)state;
	skip_unless_root();
	assert_int_equal(halo_rseq__offset(getpid()), __rseq_size ? __rseq_offset : 0);
	assert_int_equal(halo_rseq__offset(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),	       cmocka_unit_test(test_other_file),
		cmocka_unit_test(test_other_segments), cmocka_unit_test(test_no_process),
		cmocka_unit_test(test_maps),	       cmocka_unit_test(test_rseq),
		cmocka_unit_test(test_strange_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
