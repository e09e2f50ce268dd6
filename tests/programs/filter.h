/* filter.h: a filter of system calls with one answer for those of a list, and another for all others. */
#ifndef WEFT_TESTS_FILTER_H
#define WEFT_TESTS_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILTER_MOST = 64 };

/* flags: of seccomp(2); 0: by prctl(2), for the caller alone.  0, or -1 with errno. */
static inline int filter_install(const int *list, unsigned n, unsigned listed, unsigned others, int flags)
{
	struct sock_filter f[FILTER_MOST + 3] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	struct sock_fprog program = { (unsigned short)(n + 3), f };

	for (unsigned i = 0; i < n; i++)
		f[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)list[i],
							(unsigned char)(n - i), 0);
	f[n + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
	f[n + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return flags ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program)
		     : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* The same with a list that is an array. */
#define FILTER_INSTALL(list, listed, others, flags)                                                \
	({                                                                                         \
		_Static_assert(sizeof(list) / sizeof((list)[0]) <= FILTER_MOST, "room for it");    \
		filter_install(list, sizeof(list) / sizeof((list)[0]), listed, others, flags);     \
	})

#endif
