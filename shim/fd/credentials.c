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

#include "shim/syscall/scratch.h"
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
	void *control;
	long r;

	if (!m.msg_controllen)
		return -ESRCH;
	r = scratch_map(&control, m.msg_controllen);
	if (r)
		return r;
	m.msg_control = memcpy(control, msg->msg_control, m.msg_controllen);
	r = name_processes(&m) ? send(fd, &m, flags) : -ESRCH;
	scratch_unmap(control, m.msg_controllen);
	return r;
}
