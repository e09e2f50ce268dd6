/*
 * System V messages and semaphores and POSIX message queues between threads, with more threads
 * blocked in them than CPUs; time-outs of the timed calls.
 */
#include "check.h"
#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

enum { PAIRS = 8, ROUNDS = 50 };

struct message {
	long type;
	int value;
};

static int msgs, sems;
static mqd_t there[PAIRS], back[PAIRS];

static void *msg_echo(void *arg)
{
	long me = (long)arg;
	struct message m;

	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(msgrcv(msgs, &m, sizeof m.value, me, 0), sizeof m.value);
		CHECK_EQ(m.value, i);
		m.type = me + 1000;
		CHECK_SYS(msgsnd(msgs, &m, sizeof m.value, 0));
	}
	return NULL;
}

static void *msg_ask(void *arg)
{
	long me = (long)arg;
	struct message m;

	for (int i = 0; i < ROUNDS; i++) {
		m = (struct message){ me, i };
		CHECK_SYS(msgsnd(msgs, &m, sizeof m.value, 0));
		CHECK_EQ(msgrcv(msgs, &m, sizeof m.value, me + 1000, 0), sizeof m.value);
		CHECK_EQ(m.value, i);
	}
	return NULL;
}

static void *sem_turns(void *arg)
{
	unsigned short me = (unsigned short)(long)arg;
	struct sembuf down = { me, -1, 0 }, up = { me ^ 1, 1, 0 };

	for (int i = 0; i < ROUNDS; i++) {
		CHECK_SYS(semop(sems, &down, 1));
		CHECK_SYS(semop(sems, &up, 1));
	}
	return NULL;
}

static void *mq_echo(void *arg)
{
	int me = (int)(long)arg;
	char buf[32];

	for (int i = 0; i < ROUNDS; i++) {
		unsigned prio;
		ssize_t n = mq_receive(there[me], buf, sizeof buf, &prio);

		CHECK_EQ(n, 4);
		CHECK_EQ(prio, i % 5);
		CHECK_SYS(mq_send(back[me], buf, (size_t)n, prio));
	}
	return NULL;
}

static void *mq_ask(void *arg)
{
	int me = (int)(long)arg;
	char buf[32];

	for (int i = 0; i < ROUNDS; i++) {
		CHECK_SYS(mq_send(there[me], "ball", 4, (unsigned)i % 5));
		CHECK_EQ(mq_receive(back[me], buf, sizeof buf, NULL), 4);
		CHECK_EQ(memcmp(buf, "ball", 4), 0);
	}
	return NULL;
}

static mqd_t open_queue(int n)
{
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 32 };
	char name[64];
	mqd_t q;

	snprintf(name, sizeof name, "/io-message-queues.%d.%d", (int)getpid(), n);
	q = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attr);
	CHECK_SYS(q);
	CHECK_SYS(mq_unlink(name));
	return q;
}

static void run(void *(*a)(void *), void *(*b)(void *), int first, const char *name)
{
	pthread_t t[2 * PAIRS];

	for (int i = 0; i < PAIRS; i++) {
		t[2 * i] = spawn(a, (void *)(long)(first == 2 ? 2 * i : i + first));
		t[2 * i + 1] = spawn(b, (void *)(long)(first == 2 ? 2 * i + 1 : i + first));
	}
	for (int i = 0; i < 2 * PAIRS; i++)
		join(t[i]);
	passed("%s: %d pairs, %d rounds", name, PAIRS, ROUNDS);
}

int main(void)
{
	struct timespec ts = { 0, 30 * 1000000L };
	struct sembuf down = { 1, -1, 0 };
	long long began;
	char buf[32];

	CHECK_SYS(msgs = msgget(IPC_PRIVATE, 0600));
	run(msg_echo, msg_ask, 1, "messages");
	CHECK_SYS(msgctl(msgs, IPC_RMID, NULL));

	CHECK_SYS(sems = semget(IPC_PRIVATE, 2 * PAIRS, 0600));
	for (int i = 0; i < PAIRS; i++)
		CHECK_SYS(semctl(sems, 2 * i, SETVAL, 1));
	run(sem_turns, sem_turns, 2, "semaphores");
	began = now_ns(CLOCK_MONOTONIC);
	CHECK_ERR(semtimedop(sems, &down, 1, &ts), EAGAIN);
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 30 * 1000000LL);
	CHECK_SYS(semctl(sems, 0, IPC_RMID));

	for (int i = 0; i < PAIRS; i++) {
		there[i] = open_queue(2 * i);
		back[i] = open_queue(2 * i + 1);
	}
	run(mq_echo, mq_ask, 0, "message queues");
	began = now_ns(CLOCK_MONOTONIC);
	ts = after_ms(CLOCK_REALTIME, 30);
	CHECK_ERR(mq_timedreceive(there[0], buf, sizeof buf, NULL, &ts), ETIMEDOUT);
	CHECK_SYS(mq_send(there[0], "a", 1, 0));
	CHECK_SYS(mq_send(there[0], "b", 1, 0));
	ts = after_ms(CLOCK_REALTIME, 30);
	CHECK_ERR(mq_timedsend(there[0], "c", 1, 0, &ts), ETIMEDOUT);
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 55 * 1000000LL);
	passed("time-outs");
	return 0;
}
