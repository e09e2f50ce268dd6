/* Threads that write one database together, while it flushes and compacts; every value is read back. */
#include <pthread.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, KEYS = 3000 };

static rocksdb_t *db;

static void *put(void *arg)
{
	rocksdb_writeoptions_t *w = rocksdb_writeoptions_create();
	char key[32], value[200], *err = NULL;

	for (int i = 0; i < KEYS; i++) {
		snprintf(key, sizeof(key), "%ld-%d", (long)arg, i);
		memset(value, 'a' + i % 26, sizeof(value));
		rocksdb_put(db, w, key, strlen(key), value, (size_t)(i % 200), &err);
	}
	rocksdb_writeoptions_destroy(w);
	return err;
}

static void *get(void *arg)
{
	rocksdb_readoptions_t *r = rocksdb_readoptions_create();
	char key[32], *err = NULL;
	long good = 0;

	for (int i = 0; i < KEYS; i++) {
		size_t n = 999;
		char *v;

		snprintf(key, sizeof(key), "%ld-%d", (long)arg, i);
		v = rocksdb_get(db, r, key, strlen(key), &n, &err);
		good += v && n == (size_t)(i % 200) && (!n || v[n - 1] == 'a' + i % 26);
		free(v);
	}
	rocksdb_readoptions_destroy(r);
	return (void *)good;
}

int main(void)
{
	rocksdb_options_t *o = rocksdb_options_create();
	pthread_t t[THREADS];
	char *err = NULL;
	void *r;
	long good = 0;

	rocksdb_options_set_create_if_missing(o, 1);
	rocksdb_options_set_write_buffer_size(o, 256 << 10);
	rocksdb_options_increase_parallelism(o, 4);
	db = rocksdb_open(o, "db", &err);
	if (err) {
		puts(err);
		return 1;
	}
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, put, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &r);
		printf("%s\n", r ? (char *)r : "written");
	}
	rocksdb_compact_range(db, NULL, 0, NULL, 0);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, get, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &r);
		good += (long)r;
	}
	printf("%ld\n", good);
	rocksdb_close(db);
	return 0;
}
