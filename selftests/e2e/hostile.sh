#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that lets nobody look at it is not optimized, and holds nothing up.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
need_built "$HALO_BPF" "$HALO_CC"
work_dir

# Whoever reads its slots waits for a page that never comes.
cat >"$WORK/app.c" <<-END
	#include <fcntl.h>
	#include <linux/userfaultfd.h>
	#include <stdint.h>
	#include <sys/ioctl.h>
	#include <sys/mman.h>
	#include <sys/syscall.h>
	#include <unistd.h>

	extern char begin[] __asm__("__halo_slots_begin") __attribute__((visibility("hidden")));
	extern char end[] __asm__("__halo_slots_end") __attribute__((visibility("hidden")));

	__attribute__((noinline)) unsigned long work(unsigned long n)
	{
		unsigned long sum = 0;

		for (unsigned long i = 0; i < n; i++)
			sum += i * i ^ sum >> 3;
		return sum;
	}

	int main(int argc, char **argv)
	{
		struct uffdio_register pages = {
			.range = {(uint64_t)begin, (uint64_t)(end - begin)},
			.mode = UFFDIO_REGISTER_MODE_MISSING,
		};
		struct uffdio_api api = {.api = UFFD_API};
		volatile unsigned long sum = work(argc);
		int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

		(void)argv;
		(void)sum;
		if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
			return 1;
		mmap(begin, end - begin, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		if (ioctl(fd, UFFDIO_REGISTER, &pages))
			return 1;
		write(STDOUT_FILENO, "ready\n", 6);
		for (;;)
			syscall(SYS_pause);
	}
END
"$HALO_CC" -O2 -o "$WORK/app" "$WORK/app.c"

with_daemon
HALO_SOCKET=$WORK/none "$WORK/app" >"$WORK/ready" &
pid=$!
at_exit "end_process $pid"
wait_for 20 grep -q ready "$WORK/ready" || skip_all "no userfaultfd"

# Another one that does no such thing, and comes after it.
cat >"$WORK/other.c" <<-END
	#include <unistd.h>

	__attribute__((noinline)) void work(volatile long *sum)
	{
		for (long i = 0; i < 1000; i++)
			*sum += i;
	}

	int main(void)
	{
		for (volatile long sum = 0;; usleep(1000))
			work(&sum);
	}
END
"$HALO_CC" -O2 -o "$WORK/other" "$WORK/other.c"
HALO_SOCKET=$WORK/none "$WORK/other" &
other=$!
at_exit "end_process $other"

reason_of() {
	program_status "$WORK/app" | jq -r ".pids[] | select(.pid == $1).reason"
}
is_refused() {
	[[ $(reason_of "$1") == *waiting* ]]
}
log_line() {
	grep -n "$1" "$DAEMON_LOG" | head -n 1 | cut -d: -f1
}

# Ends before the daemon does: a daemon that hangs could not be ended.
timeout 30 "$HALO_BPF" enroll "$WORK/app" >/dev/null 2>&1 || true
timeout 30 "$HALO_BPF" enroll "$WORK/other" >/dev/null
tap_run "the daemon answers" timeout 30 "$HALO_BPF" -j status
wait_for 30 is_refused "$pid" || true
tap_like "status says why it is not attached" "keeps whoever examines it waiting" \
	"$(reason_of "$pid")"
second=$(log_line "process $other attached from outside")
first=$(log_line "process $pid is not attached")
tap_is "nobody else waits for it: a program that came later was attached before" "yes" \
	"$([ "${second:-9999}" -lt "${first:-0}" ] && echo yes || cat "$DAEMON_LOG")"
tap_is "the program runs on" "$pid" "$(pgrep -x app -P $$)"
end_process "$pid"
end_process "$other"
halo unenroll "$WORK/other" >/dev/null
halo unenroll "$WORK/app" >/dev/null

# Says hello as a stub does, and no more. Under a filter, so that it is not attached from outside either.
cat >"$WORK/silent.c" <<-END
	#include <halo/attach.h>
	#include <halo/prepared.h>
	#include <linux/filter.h>
	#include <linux/seccomp.h>
	#include <sys/prctl.h>
	#include <sys/socket.h>
	#include <sys/un.h>
	#include <unistd.h>

	__attribute__((noinline)) void work(volatile long *sum)
	{
		for (long i = 0; i < 1000; i++)
			*sum += i;
	}

	extern char begin[] __asm__("__halo_slots_begin") __attribute__((visibility("hidden")));

	int main(void)
	{
		struct halo_hello hello = {HALO_ATTACH_MAGIC, HALO_FORMAT_VERSION,
						   (uint64_t)begin};
		struct sockaddr_un addr = {AF_UNIX, HALO_ATTACH_SOCKET};
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		volatile long sum = 0;
		char offer;
		struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
		struct sock_fprog filter = {1, &allow};

		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
		work(&sum);
		if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
		    send(fd, &hello, sizeof(hello), 0) < 0 || recv(fd, &offer, 1, 0) < 0)
			return 1;
		write(STDOUT_FILENO, "ready\\n", 6);
		for (;;)
			pause();
	}
END
"$HALO_CC" -O2 -I"$SOURCE_DIR/user/include" -o "$WORK/silent" "$WORK/silent.c"

descriptors() {
	find "/proc/$DAEMON_PID/fd" -type l | wc -l
}

# What programs that are not enrolled any more have cost the daemon; theirs time out after a while.
nothing_left() {
	[ "$(descriptors)" -le "$before" ] && [ -z "$(find /run/halo-bpf/shm -name 'slots-*')" ]
}

# A build-id can be forged by anyone, in a file of any size.
cp "$WORK/silent" "$WORK/forged"
truncate -s 1000M "$WORK/forged"
halo enroll "$WORK/silent" >/dev/null
"$WORK/forged" >/dev/null &
pid=$!
at_exit "end_process $pid"
halo enroll "$WORK/silent" >/dev/null
end_process "$pid"
halo unenroll "$WORK/silent" >/dev/null
peak=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$DAEMON_PID/status")
if [ "$peak" -lt 500000 ]; then
	tap_ok "a huge file with its build-id is not read"
else
	tap_not_ok "a huge file with its build-id is not read" "the daemon took $peak kB"
fi

before=$(descriptors)
halo enroll "$WORK/silent" >/dev/null
halo unenroll "$WORK/silent" >/dev/null
tap_run "a program that is not enrolled any more has no descriptors" nothing_left
halo enroll "$WORK/silent" >/dev/null
HALO_SOCKET=$WORK/none "$WORK/silent" >"$WORK/ready" &
pid=$!
at_exit "end_process $pid"
has_slots() {
	[ "$(find /run/halo-bpf/shm -name 'slots-*' | wc -l)" -eq 1 ]
}
tap_run "a program that says hello has slots" wait_for 20 has_slots
halo unenroll "$WORK/silent" >/dev/null
end_process "$pid"
tap_run "nor has one that was half attached" wait_for 20 nothing_left
tap_done
