/* credentials: a message that names its sender by the id of a thread: see credentials.c. */
#ifndef WEFT_SHIM_CREDENTIALS_H
#define WEFT_SHIM_CREDENTIALS_H

#include "shim/shim.h"

typedef long credentials_send(int fd, const struct msghdr *msg, int flags);

/* msg was refused with ESRCH: what send makes of it with processes in the place of Gs, or -ESRCH. */
long credentials_again(int fd, const struct msghdr *msg, int flags, credentials_send *send) hidden;

#endif
