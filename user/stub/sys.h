/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_STUB_SYS_H
#define HALO_STUB_SYS_H

/* System calls of x86-64 Linux without a libc: each returns what the kernel does, -errno included. */
#include <linux/auxvec.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/time_types.h>
#include <linux/un.h>
#include <asm/unistd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the kernel's headers leave to the libc's; the values are part of the kernel's ABI. */
#define SYS_AF_UNIX	     1
#define SYS_SOCK_SEQPACKET   5
#define SYS_SOCK_NONBLOCK    04000
#define SYS_SOCK_CLOEXEC     02000000
#define SYS_SOL_SOCKET	     1
#define SYS_SCM_RIGHTS	     1
#define SYS_MSG_CTRUNC	     0x8
#define SYS_MSG_TRUNC	     0x20
#define SYS_MSG_DONTWAIT     0x40
#define SYS_MSG_NOSIGNAL     0x4000
#define SYS_MSG_CMSG_CLOEXEC 0x40000000
#define SYS_SEEK_END	     2

struct sys_iovec {
	void *base;
	size_t len;
};

struct sys_msghdr {
	void *name;
	int namelen;
	struct sys_iovec *iov;
	size_t iovlen;
	void *control;
	size_t controllen;
	unsigned int flags;
};

static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

static inline long sys_call3(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return ret;
}

static inline long sys_open(const char *path, int flags)
{
	return sys_call3(__NR_open, (long)path, flags, 0);
}

static inline long sys_access(const char *path)
{
	return sys_call3(__NR_access, (long)path, 0, 0);
}

static inline long sys_read(long fd, void *buf, size_t len)
{
	return sys_call3(__NR_read, fd, (long)buf, (long)len);
}

static inline long sys_close(long fd)
{
	return sys_call3(__NR_close, fd, 0, 0);
}

static inline long sys_mmap(uint64_t addr, uint64_t len, long prot, long flags, long fd)
{
	return sys_call6(__NR_mmap, (long)addr, (long)len, prot, flags, fd, 0);
}

static inline long sys_munmap(uint64_t addr, uint64_t len)
{
	return sys_call3(__NR_munmap, (long)addr, (long)len, 0);
}

static inline long sys_mprotect(const void *addr, uint64_t len, long prot)
{
	return sys_call3(__NR_mprotect, (long)addr, (long)len, prot);
}

static inline bool sys_failed(long ret)
{
	return (unsigned long)ret > -4096UL;
}

#endif
