/*
 * resolver: the services that libc reaches over the network or in files: hosts, users, the log.
 *
 * Each is a program of its own (modules, sockets, locks, time-outs) that blocks where weft cannot
 * see it, so it runs as a whole under handoff.  What its modules call of ours nests inside.
 * Results in static memory are as static as they ever were.
 */
#include "shim/syscall/rawsyscall.h"

#define WHOLE(ret, name, params, args)                                                             \
	EXPORT ret name params                                                                     \
	{                                                                                          \
		if (!on_g())                                                                       \
			return real.name args;                                                     \
		return HANDOFF(real.name args);                                                    \
	}

/* Names and addresses. */

WHOLE(int, getaddrinfo,
      (const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **res),
      (node, service, hints, res))
WHOLE(int, getnameinfo,
      (const struct sockaddr *sa, socklen_t salen, char *host, socklen_t hostlen, char *serv,
       socklen_t servlen, int flags),
      (sa, salen, host, hostlen, serv, servlen, flags))
WHOLE(struct hostent *, gethostbyname, (const char *name), (name))
WHOLE(int, gethostbyname_r,
      (const char *name, struct hostent *ret, char *buf, size_t n, struct hostent **res, int *herr),
      (name, ret, buf, n, res, herr))
WHOLE(struct hostent *, gethostbyname2, (const char *name, int af), (name, af))
WHOLE(int, gethostbyname2_r,
      (const char *name, int af, struct hostent *ret, char *buf, size_t n, struct hostent **res,
       int *herr),
      (name, af, ret, buf, n, res, herr))
WHOLE(struct hostent *, gethostbyaddr, (const void *addr, socklen_t len, int af), (addr, len, af))
WHOLE(int, gethostbyaddr_r,
      (const void *addr, socklen_t len, int af, struct hostent *ret, char *buf, size_t n,
       struct hostent **res, int *herr),
      (addr, len, af, ret, buf, n, res, herr))
WHOLE(struct hostent *, gethostent, (void), ())
WHOLE(int, gethostent_r,
      (struct hostent * ret, char *buf, size_t n, struct hostent **res, int *herr),
      (ret, buf, n, res, herr))
WHOLE(struct netent *, getnetbyname, (const char *name), (name))
WHOLE(int, getnetbyname_r,
      (const char *name, struct netent *ret, char *buf, size_t n, struct netent **res, int *herr),
      (name, ret, buf, n, res, herr))
WHOLE(struct netent *, getnetbyaddr, (uint32_t net, int af), (net, af))
WHOLE(int, getnetbyaddr_r,
      (uint32_t net, int af, struct netent *ret, char *buf, size_t n, struct netent **res,
       int *herr),
      (net, af, ret, buf, n, res, herr))
WHOLE(struct netent *, getnetent, (void), ())
WHOLE(int, getnetent_r, (struct netent * ret, char *buf, size_t n, struct netent **res, int *herr),
      (ret, buf, n, res, herr))
WHOLE(struct servent *, getservbyname, (const char *name, const char *proto), (name, proto))
WHOLE(int, getservbyname_r,
      (const char *name, const char *proto, struct servent *ret, char *buf, size_t n,
       struct servent **res),
      (name, proto, ret, buf, n, res))
WHOLE(struct servent *, getservbyport, (int port, const char *proto), (port, proto))
WHOLE(int, getservbyport_r,
      (int port, const char *proto, struct servent *ret, char *buf, size_t n, struct servent **res),
      (port, proto, ret, buf, n, res))
WHOLE(struct servent *, getservent, (void), ())
WHOLE(int, getservent_r, (struct servent * ret, char *buf, size_t n, struct servent **res),
      (ret, buf, n, res))
WHOLE(struct protoent *, getprotobyname, (const char *name), (name))
WHOLE(int, getprotobyname_r,
      (const char *name, struct protoent *ret, char *buf, size_t n, struct protoent **res),
      (name, ret, buf, n, res))
WHOLE(struct protoent *, getprotobynumber, (int proto), (proto))
WHOLE(int, getprotobynumber_r,
      (int proto, struct protoent *ret, char *buf, size_t n, struct protoent **res),
      (proto, ret, buf, n, res))
WHOLE(struct protoent *, getprotoent, (void), ())
WHOLE(int, getprotoent_r, (struct protoent * ret, char *buf, size_t n, struct protoent **res),
      (ret, buf, n, res))
WHOLE(struct rpcent *, getrpcbyname, (const char *name), (name))
WHOLE(int, getrpcbyname_r,
      (const char *name, struct rpcent *ret, char *buf, size_t n, struct rpcent **res),
      (name, ret, buf, n, res))
WHOLE(struct rpcent *, getrpcbynumber, (int number), (number))
WHOLE(int, getrpcbynumber_r,
      (int number, struct rpcent *ret, char *buf, size_t n, struct rpcent **res),
      (number, ret, buf, n, res))
WHOLE(struct rpcent *, getrpcent, (void), ())
WHOLE(int, getrpcent_r, (struct rpcent * ret, char *buf, size_t n, struct rpcent **res),
      (ret, buf, n, res))
WHOLE(int, ether_hostton, (const char *name, struct ether_addr *addr), (name, addr))
WHOLE(int, ether_ntohost, (char *name, const struct ether_addr *addr), (name, addr))

/* Users and groups. */

WHOLE(struct passwd *, getpwnam, (const char *name), (name))
WHOLE(int, getpwnam_r,
      (const char *name, struct passwd *ret, char *buf, size_t n, struct passwd **res),
      (name, ret, buf, n, res))
WHOLE(struct passwd *, getpwuid, (uid_t uid), (uid))
WHOLE(int, getpwuid_r, (uid_t uid, struct passwd *ret, char *buf, size_t n, struct passwd **res),
      (uid, ret, buf, n, res))
WHOLE(struct passwd *, getpwent, (void), ())
WHOLE(int, getpwent_r, (struct passwd * ret, char *buf, size_t n, struct passwd **res),
      (ret, buf, n, res))
WHOLE(struct group *, getgrnam, (const char *name), (name))
WHOLE(int, getgrnam_r,
      (const char *name, struct group *ret, char *buf, size_t n, struct group **res),
      (name, ret, buf, n, res))
WHOLE(struct group *, getgrgid, (gid_t gid), (gid))
WHOLE(int, getgrgid_r, (gid_t gid, struct group *ret, char *buf, size_t n, struct group **res),
      (gid, ret, buf, n, res))
WHOLE(struct group *, getgrent, (void), ())
WHOLE(int, getgrent_r, (struct group * ret, char *buf, size_t n, struct group **res),
      (ret, buf, n, res))
WHOLE(struct spwd *, getspnam, (const char *name), (name))
WHOLE(int, getspnam_r, (const char *name, struct spwd *ret, char *buf, size_t n, struct spwd **res),
      (name, ret, buf, n, res))
WHOLE(struct spwd *, getspent, (void), ())
WHOLE(int, getspent_r, (struct spwd * ret, char *buf, size_t n, struct spwd **res),
      (ret, buf, n, res))
WHOLE(int, getgrouplist, (const char *user, gid_t group, gid_t *groups, int *n),
      (user, group, groups, n))
WHOLE(int, innetgr, (const char *group, const char *host, const char *user, const char *domain),
      (group, host, user, domain))
WHOLE(int, setnetgrent, (const char *group), (group))
WHOLE(int, getnetgrent, (char **host, char **user, char **domain), (host, user, domain))
WHOLE(int, getnetgrent_r, (char **host, char **user, char **domain, char *buf, size_t n),
      (host, user, domain, buf, n))

/* The resolver.  The names with two underscores are those of programs linked before glibc 2.34. */

WHOLE(int, res_query, (const char *name, int class, int type, unsigned char *answer, int n),
      (name, class, type, answer, n))
WHOLE(int, res_search, (const char *name, int class, int type, unsigned char *answer, int n),
      (name, class, type, answer, n))
WHOLE(int, res_querydomain,
      (const char *name, const char *domain, int class, int type, unsigned char *answer, int n),
      (name, domain, class, type, answer, n))
WHOLE(int, res_send, (const unsigned char *query, int len, unsigned char *answer, int n),
      (query, len, answer, n))
WHOLE(int, res_nquery,
      (struct __res_state * state, const char *name, int class, int type, unsigned char *answer,
       int n),
      (state, name, class, type, answer, n))
WHOLE(int, res_nsearch,
      (struct __res_state * state, const char *name, int class, int type, unsigned char *answer,
       int n),
      (state, name, class, type, answer, n))
WHOLE(int, res_nquerydomain,
      (struct __res_state * state, const char *name, const char *domain, int class, int type,
       unsigned char *answer, int n),
      (state, name, domain, class, type, answer, n))
WHOLE(int, res_nsend,
      (struct __res_state * state, const unsigned char *query, int len, unsigned char *answer,
       int n),
      (state, query, len, answer, n))
WHOLE(int, __res_query, (const char *name, int class, int type, unsigned char *answer, int n),
      (name, class, type, answer, n))
WHOLE(int, __res_search, (const char *name, int class, int type, unsigned char *answer, int n),
      (name, class, type, answer, n))
WHOLE(int, __res_querydomain,
      (const char *name, const char *domain, int class, int type, unsigned char *answer, int n),
      (name, domain, class, type, answer, n))
WHOLE(int, __res_send, (const unsigned char *query, int len, unsigned char *answer, int n),
      (query, len, answer, n))
WHOLE(int, __res_nquery,
      (struct __res_state * state, const char *name, int class, int type, unsigned char *answer,
       int n),
      (state, name, class, type, answer, n))
WHOLE(int, __res_nsearch,
      (struct __res_state * state, const char *name, int class, int type, unsigned char *answer,
       int n),
      (state, name, class, type, answer, n))
WHOLE(int, __res_nquerydomain,
      (struct __res_state * state, const char *name, const char *domain, int class, int type,
       unsigned char *answer, int n),
      (state, name, domain, class, type, answer, n))
WHOLE(int, __res_nsend,
      (struct __res_state * state, const unsigned char *query, int len, unsigned char *answer,
       int n),
      (state, query, len, answer, n))

/* The log: a socket to a daemon that may be slow. */

EXPORT void vsyslog(int priority, const char *format, va_list ap)
{
	if (!on_g())
		real.vsyslog(priority, format, ap);
	else
		HANDOFF_VOID(real.vsyslog(priority, format, ap));
}
TWIN(vsyslog);

EXPORT void syslog(int priority, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	shim_vsyslog(priority, format, ap);
	va_end(ap);
}

EXPORT void __vsyslog_chk(int priority, int flag, const char *format, va_list ap)
{
	if (!on_g())
		real.__vsyslog_chk(priority, flag, format, ap);
	else
		HANDOFF_VOID(real.__vsyslog_chk(priority, flag, format, ap));
}
TWIN(__vsyslog_chk);

EXPORT void __syslog_chk(int priority, int flag, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	shim___vsyslog_chk(priority, flag, format, ap);
	va_end(ap);
}
