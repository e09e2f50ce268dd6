/* A loop with a pool, wake-ups from threads, files, timers, a signal, a process and a pipe. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

static long sum, worked, woken, files;
static uv_async_t async;
static uv_signal_t sig;
static uv_sem_t sem;
static uv_timer_t timer;
static int ticks;

static void work(uv_work_t *w)
{
	long n = (long)w->data, s = 0;

	for (long i = 0; i < 10000; i++)
		s += i * n % 7;
	w->data = (void *)s;
}

static void after(uv_work_t *w, int status)
{
	sum += (long)w->data;
	worked++;
	free(w);
}

static void wake(uv_async_t *a)
{
	woken = 1;
	uv_sem_post(&sem);
}

static void thread(void *arg)
{
	for (int i = 0; i < 100; i++) {
		uv_async_send(&async);
		uv_sem_wait(&sem);
	}
	uv_async_send(&async);
	*(int *)arg = 100;
}

static void opened(uv_fs_t *f)
{
	files += f->result >= 0;
	uv_fs_req_cleanup(f);
	free(f);
}

static void came(uv_signal_t *s, int n)
{
	printf("signal %d\n", n == SIGUSR1);
	uv_close((uv_handle_t *)s, NULL);
}

static void ended(uv_process_t *p, int64_t status, int n)
{
	printf("child %d\n", (int)status);
	uv_close((uv_handle_t *)p, NULL);
}

static void tick(uv_timer_t *t)
{
	if (++ticks < 20)
		return;
	uv_close((uv_handle_t *)t, NULL);
	uv_close((uv_handle_t *)&async, NULL);
	kill(getpid(), SIGUSR1);
}

int main(void)
{
	uv_loop_t *loop = uv_default_loop();
	uv_process_options_t o = {.file = "sh", .args = (char *[]){"sh", "-c", "exit 4", NULL}, .exit_cb = ended};
	uv_process_t p;
	uv_thread_t t;
	int sent = 0;

	for (long i = 0; i < 300; i++) {
		uv_work_t *w = malloc(sizeof(*w));

		w->data = (void *)i;
		uv_queue_work(loop, w, work, after);
	}
	for (int i = 0; i < 50; i++)
		uv_fs_stat(loop, malloc(sizeof(uv_fs_t)), "/", opened);
	uv_sem_init(&sem, 0);
	uv_async_init(loop, &async, wake);
	uv_thread_create(&t, thread, &sent);
	uv_signal_init(loop, &sig);
	uv_signal_start(&sig, came, SIGUSR1);
	uv_timer_init(loop, &timer);
	uv_timer_start(&timer, tick, 10, 10);
	uv_spawn(loop, &p, &o);
	uv_run(loop, UV_RUN_DEFAULT);
	uv_thread_join(&t);
	printf("%ld %ld %ld %ld %d\n", worked, sum, files, woken, sent);
	return uv_loop_close(loop) != 0;
}
