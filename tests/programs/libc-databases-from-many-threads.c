/*
 * libc's databases (users, groups, hosts, services, protocols) asked from many threads at once: the
 * answers are those that one thread gets.  Each call of the family is made once in each thread; the
 * reentrant ones answer into the thread's own memory.
 */
#include "check.h"

#include <grp.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <netinet/in.h>
#include <pwd.h>
#include <resolv.h>
#include <rpc/netdb.h>
#include <shadow.h>
#include <syslog.h>

enum { THREADS = 16, ROUNDS = 5 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for calls with one answer for all threads */

static void users(void)
{
	struct passwd pw, *got;
	struct group gr, *group;
	gid_t list[64];
	char buf[4096];
	int n = 64;

	CHECK(getpwuid_r(0, &pw, buf, sizeof buf, &got) == 0 && got);
	CHECK(strcmp(pw.pw_name, "root") == 0);
	CHECK(getpwnam_r("root", &pw, buf, sizeof buf, &got) == 0 && got && pw.pw_uid == 0);
	CHECK(getgrgid_r(0, &gr, buf, sizeof buf, &group) == 0 && group);
	CHECK(strcmp(gr.gr_name, "root") == 0);
	CHECK(getgrnam_r("root", &gr, buf, sizeof buf, &group) == 0 && group && gr.gr_gid == 0);
	CHECK(getgrouplist("root", 0, list, &n) >= 1 && list[0] == 0);
}

static void network(void)
{
	struct hostent he, *host;
	struct servent se, *serv;
	struct protoent pe, *proto;
	struct in_addr loop = { htonl(INADDR_LOOPBACK) };
	char buf[8192];
	int err;

	CHECK(gethostbyname_r("127.0.0.1", &he, buf, sizeof buf, &host, &err) == 0 && host);
	CHECK(memcmp(he.h_addr_list[0], &loop, sizeof loop) == 0);
	CHECK(gethostbyname2_r("127.0.0.1", AF_INET, &he, buf, sizeof buf, &host, &err) == 0 && host);
	gethostbyaddr_r(&loop, sizeof loop, AF_INET, &he, buf, sizeof buf, &host, &err);
	CHECK(getservbyname_r("no-such-service", "tcp", &se, buf, sizeof buf, &serv) == 0 || !serv);
	CHECK(!serv);
	getservbyport_r(htons(80), "tcp", &se, buf, sizeof buf, &serv);
	CHECK(getprotobyname_r("no-such-protocol", &pe, buf, sizeof buf, &proto) == 0 || !proto);
	CHECK(!proto);
	getprotobynumber_r(6, &pe, buf, sizeof buf, &proto);
	CHECK(!proto || pe.p_proto == 6);
}

/* Calls that answer into memory of libc's: one thread at a time. */
static void shared(void)
{
	struct in_addr loop = { htonl(INADDR_LOOPBACK) };
	struct ether_addr mac;
	struct hostent *he;
	int n;

	pthread_mutex_lock(&lock);
	CHECK(getpwuid(0) && getpwuid(0)->pw_uid == 0 && getgrgid(0) && getgrnam("root"));
	he = gethostbyname("127.0.0.1");
	CHECK(he && memcmp(he->h_addr_list[0], &loop, sizeof loop) == 0);
	he = gethostbyname2("127.0.0.1", AF_INET);
	CHECK(he && he->h_addrtype == AF_INET);
	gethostbyaddr(&loop, sizeof loop, AF_INET);
	CHECK(!getservbyname("no-such-service", "udp") && !getprotobyname("no-such-protocol"));
	getservbyport(htons(22), "tcp");
	getprotobynumber(17);
	CHECK(!getnetbyname("no-such-net") && !getrpcbyname("no-such-program"));
	getnetbyaddr(127, AF_INET);
	getrpcbynumber(100000);
	setpwent();
	for (n = 0; getpwent(); n++)
		;
	endpwent();
	CHECK(n > 0);
	setgrent();
	for (n = 0; getgrent(); n++)
		;
	endgrent();
	CHECK(n > 0);
	sethostent(0);
	while (gethostent())
		;
	endhostent();
	while (getservent())
		;
	endservent();
	while (getprotoent())
		;
	endprotoent();
	while (getnetent())
		;
	endnetent();
	while (getrpcent())
		;
	endrpcent();
	while (getspent())
		;
	endspent();
	getspnam("root");
	CHECK(ether_hostton("no-such-host", &mac) != 0);
	CHECK(!innetgr("no-such-group", "host", NULL, NULL));
	pthread_mutex_unlock(&lock);
}

static void *ask(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		users();
		network();
		shared();
		syslog(LOG_DEBUG, "round %d", i);
	}
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];

	setlogmask(LOG_UPTO(LOG_EMERG)); /* the call is made, the machine's log is left alone */
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, ask, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	printf("users and groups\nhosts, services and protocols\ncalls with one answer for all\n");
	return 0;
}
