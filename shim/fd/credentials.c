/*
 * credentials: a message that names its sender (SCM_CREDENTIALS) by the id of a thread.
 *
 * The kernel takes any id there is, and a G's is none of the kernel's: it says ESRCH, and has sent
 * nothing.  Then the message is sent again, with the process in the place of each G.  (The receiver
 * reads the id of the process, and natively that of the thread.)  A message that the kernel takes
 * costs nothing.
 *
 * Must never: change the caller's own control data, which other threads may be sending.
 */
#include "shim/fd/credentials.h"

#include "shim/thread/tid.h"

#include <string.h>

/* True: there was one. */
static bool name_processes(struct msghdr *m)
{
	bool any = false;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct ucred who;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS ||
		    c->cmsg_len != CMSG_LEN(sizeof(who)))
			continue;
		memcpy(&who, CMSG_DATA(c), sizeof(who));
		if (tid_process(who.pid) == who.pid)
			continue;
		who.pid = tid_process(who.pid);
		memcpy(CMSG_DATA(c), &who, sizeof(who));
		any = true;
	}
	return any;
}

long credentials_again(int fd, const struct msghdr *msg, int flags, credentials_send *send)
{
	struct msghdr m = *msg; /* the kernel has read it and its control data */
	long r = -ESRCH, at;

	if (!m.msg_controllen)
		return r;
	at = direct6(SYS_mmap, NULL, m.msg_controllen, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if ((unsigned long)at > -4096UL)
		return at;
	memcpy((void *)at, msg->msg_control, m.msg_controllen);
	m.msg_control = (void *)at;
	if (name_processes(&m))
		r = send(fd, &m, flags);
	direct3(SYS_munmap, at, m.msg_controllen, 0);
	return r;
}
