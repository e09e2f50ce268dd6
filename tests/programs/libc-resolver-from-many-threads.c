/*
 * getaddrinfo and getnameinfo for localhost and numeric addresses, and the user database, from 30
 * threads at once, each of which has resolver state of its own.  No name server is asked.
 */
#include "check.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <pwd.h>
#include <sys/socket.h>

enum { THREADS = 30 };

static void *work(void *arg)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *ai;
	char port[32], host[64];

	snprintf(port, sizeof port, "%ld", 10000 + (long)arg);
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(getaddrinfo("localhost", port, &hints, &ai), 0);

		struct sockaddr_in *sin = (struct sockaddr_in *)ai->ai_addr;

		CHECK_EQ(sin->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
		CHECK_EQ(ntohs(sin->sin_port), 10000 + (long)arg);
		sched_yield();
		CHECK_EQ(getnameinfo(ai->ai_addr, ai->ai_addrlen, host, sizeof host, NULL, 0,
				     NI_NUMERICHOST),
			 0);
		CHECK_EQ(strcmp(host, "127.0.0.1"), 0);
		freeaddrinfo(ai);
		CHECK_EQ(getaddrinfo("10.20.30.40", NULL, &hints, &ai), 0);
		freeaddrinfo(ai);
		hints.ai_flags = AI_NUMERICHOST;
		CHECK_EQ(getaddrinfo("not-a-number", NULL, &hints, &ai), EAI_NONAME);
		hints.ai_flags = 0;

		struct passwd pw, *found;
		char buf[4096];

		CHECK_OK(getpwnam_r("root", &pw, buf, sizeof buf, &found));
		CHECK(found == &pw);
		CHECK_EQ(pw.pw_uid, 0);
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("%d threads resolved localhost", THREADS);
	return 0;
}
