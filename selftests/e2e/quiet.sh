#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A prepared program that is not enrolled is, to itself and to others, what a plain build is: whether
# there is a daemon or not, it does no more than to ask for one at its start.
set -euo pipefail
# shellcheck source=selftests/lib.sh
. "$(dirname "$0")/../lib.sh"
need_root
need_built "$HALO_BPF" "$HALO_CC"
work_dir
unset HALO_DISABLE HALO_SOCKET
cd "$WORK"

# Says all that there is of it, but where things lie.
cat >app.c <<-END
	#include <fcntl.h>
	#include <stdio.h>
	#include <string.h>
	#include <sys/resource.h>
	#include <sys/single_threaded.h>
	#include <unistd.h>

	__attribute__((noinline)) unsigned long work(unsigned long n)
	{
		unsigned long sum = 0;

		for (unsigned long i = 0; i < n; i++)
			sum += i * i ^ sum >> 3;
		return sum;
	}

	static void show_status(const char *keys)
	{
		FILE *f = fopen("/proc/self/status", "r");
		char line[512], key[64];

		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "%63[^:]", key) == 1 && strstr(keys, key))
				fputs(line, stdout);
		if (f)
			fclose(f);
	}

	/* But those of its own file, and the variables right behind. */
	static void show_mappings(const char *self)
	{
		FILE *f = fopen("/proc/self/maps", "r");
		unsigned long start, end, own_end = 0;
		char line[512], perms[8], name[300];

		while (f && fgets(line, sizeof(line), f)) {
			name[0] = 0;
			if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %299s", &start, &end, perms, name) < 3)
				continue;
			if (strcmp(name, self) == 0 || (!name[0] && start == own_end))
				own_end = end;
			else
				printf("%s %s\n", perms, name);
		}
		if (f)
			fclose(f);
	}

	int main(void)
	{
		char self[300] = "";

		if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
			return 1;
		for (int fd = 0; fd < 256; fd++)
			if (fcntl(fd, F_GETFD) >= 0)
				printf("descriptor %d\n", fd);
		show_status("Threads SigPnd ShdPnd SigBlk SigIgn SigCgt Seccomp NoNewPrivs CapEff");
		show_mappings(self);
		printf("%d %d %lu\n", __libc_single_threaded, getpriority(PRIO_PROCESS, 0), work(9));
		return 0;
	}
END
clang-19 -D_GNU_SOURCE -O2 -o plain app.c
"$HALO_CC" -D_GNU_SOURCE -O2 -o prepared app.c
tap_like "the prepared build has a stub" "true" "$(halo -j inspect prepared | jq .stub)"
expected=$(./plain)

# trace NAME PROGRAM [VARIABLE=VALUE]: its system calls are in NAME.trace, and their names in NAME.calls
trace() {
	strace -o "$1.trace" ${3:+-E "$3"} "$2" >/dev/null
	sed 's/(.*//' "$1.trace" | sort >"$1.calls"
}

has_strace=$(command -v strace || true)
[ -z "$has_strace" ] || trace plain ./plain

# is_plain TEXT CALLS [VARIABLE=VALUE]: its view of itself is the plain build's; CALLS are its own.
is_plain() {
	tap_is "$1: nothing in it is other than in a plain build" "$expected" "$(env ${3:+"$3"} ./prepared)"
	if [ -z "$has_strace" ]; then
		tap_skip "$1: its system calls" "strace is not installed"
		return
	fi
	trace own ./prepared "${3:-}"
	tap_is "$1: its system calls" "$2" \
		"$(comm -13 plain.calls own.calls | uniq -c | awk '{ print $2 " " $1 }' | xargs)"
}

# The slots are made read-only by one mprotect(2). A socket that is not there is not even tried.
is_plain "no daemon" "access 1 mprotect 1"
is_plain "HALO_DISABLE=1" "mprotect 1" HALO_DISABLE=1
with_daemon
is_plain "not enrolled" \
	"access 1 close 2 connect 1 mprotect 1 open 1 ppoll 1 read 2 recvmsg 1 sendto 1 socket 1"
is_plain "not enrolled, HALO_DISABLE=1" "mprotect 1" HALO_DISABLE=1
kill -STOP "$DAEMON_PID"
at_exit 'kill -CONT "${DAEMON_PID:-$$}"'
tap_is "a daemon that does not answer: nothing is left either" "$expected" "$(./prepared)"
kill -CONT "$DAEMON_PID"
kill -KILL "$DAEMON_PID"
wait_for 20 process_ended "$DAEMON_PID" || true
tap_is "a daemon that was killed: nothing is left either" "$expected" "$(./prepared)"
[ -z "$has_strace" ] || trace killed ./prepared
if [ -n "$has_strace" ]; then
	tap_is "one failed connect, no more" "-1 ECONNREFUSED" \
		"$(sed -n 's/^connect(.*) = \(-1 [A-Z]*\) .*/\1/p' killed.trace | xargs)"
else
	tap_skip "one failed connect, no more" "strace is not installed"
fi
tap_done
