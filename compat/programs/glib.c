/* A pool of threads, an asynchronous queue, a main loop that other threads wake, asynchronous files, a child. */
#include <gio/gio.h>

static gint done;
static GMainLoop *loop;
static GAsyncQueue *queue;

static void square(gpointer data, gpointer user)
{
	g_async_queue_push(queue, GINT_TO_POINTER(GPOINTER_TO_INT(data) * GPOINTER_TO_INT(data) + 1));
}

static gboolean called(gpointer data)
{
	if (++done == 200)
		g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static gpointer poster(gpointer data)
{
	for (int i = 0; i < 50; i++)
		g_main_context_invoke_full(NULL, G_PRIORITY_DEFAULT, called, NULL, NULL);
	return NULL;
}

static void loaded(GObject *file, GAsyncResult *result, gpointer data)
{
	gsize n = 0;

	g_file_load_contents_finish(G_FILE(file), result, NULL, &n, NULL, NULL);
	*(gsize *)data += n;
	if (++done == 20)
		g_main_loop_quit(loop);
}

static void tasked(GTask *task, gpointer source, gpointer data, GCancellable *c)
{
	g_usleep(5000);
	g_task_return_int(task, 42);
}

static void task_over(GObject *o, GAsyncResult *r, gpointer data)
{
	g_print("task %d\n", (int)g_task_propagate_int(G_TASK(r), NULL));
	g_main_loop_quit(loop);
}

static gboolean ticks(gpointer data)
{
	if (++done < 20)
		return G_SOURCE_CONTINUE;
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

int main(void)
{
	GThreadPool *pool;
	GThread *t[4];
	GTask *task;
	GFile *f;
	gsize total = 0;
	long sum = 0;
	gchar *out;

	queue = g_async_queue_new();
	pool = g_thread_pool_new(square, NULL, 6, FALSE, NULL);
	for (int i = 0; i < 1000; i++)
		g_thread_pool_push(pool, GINT_TO_POINTER(i + 1), NULL);
	for (int i = 0; i < 1000; i++)
		sum += GPOINTER_TO_INT(g_async_queue_pop(queue));
	g_thread_pool_free(pool, FALSE, TRUE);
	g_print("pool %ld\n", sum);
	g_print("none %d\n", g_async_queue_timeout_pop(queue, 5000) == NULL);
	loop = g_main_loop_new(NULL, FALSE);
	for (int i = 0; i < 4; i++)
		t[i] = g_thread_new("poster", poster, NULL);
	g_main_loop_run(loop);
	for (int i = 0; i < 4; i++)
		g_thread_join(t[i]);
	g_print("invoked %d\n", done);
	done = 0;
	g_file_set_contents("file", g_strnfill(10000, 'x'), -1, NULL);
	f = g_file_new_for_path("file");
	for (int i = 0; i < 20; i++)
		g_file_load_contents_async(f, NULL, loaded, &total);
	g_main_loop_run(loop);
	g_print("files %lu\n", (unsigned long)total);
	task = g_task_new(NULL, NULL, task_over, NULL);
	g_task_run_in_thread(task, tasked);
	g_main_loop_run(loop);
	done = 0;
	g_timeout_add(2, ticks, NULL);
	g_main_loop_run(loop);
	g_print("ticks %d\n", done);
	g_spawn_command_line_sync("echo a child", &out, NULL, NULL, NULL);
	g_print("%s", out);
	return 0;
}
