/* One database in a write-ahead log, a connection for each thread; who finds it busy waits and tries again. */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>

enum { THREADS = 6, ROWS = 100 };

static sqlite3 *open_it(void)
{
	sqlite3 *db;

	sqlite3_open("data", &db);
	sqlite3_busy_timeout(db, 60000);
	sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF", NULL, NULL, NULL);
	return db;
}

static void *run(void *arg)
{
	sqlite3 *db = open_it();
	char sql[200];
	long bad = 0;

	for (int i = 0; i < ROWS; i++) {
		snprintf(sql, sizeof(sql), "BEGIN IMMEDIATE; INSERT INTO t VALUES(%ld, %d); "
			 "UPDATE n SET n = n + 1; COMMIT", (long)arg, i);
		bad += sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK;
	}
	sqlite3_close(db);
	return (void *)bad;
}

static int show(void *arg, int n, char **values, char **names)
{
	return puts(values[0]) < 0;
}

int main(void)
{
	sqlite3 *db = open_it();
	pthread_t t[THREADS];
	void *bad;

	sqlite3_exec(db, "CREATE TABLE t(a, b); CREATE TABLE n(n); INSERT INTO n VALUES(0)", NULL, NULL, NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &bad);
		printf("%ld\n", (long)bad);
	}
	sqlite3_exec(db, "SELECT n FROM n; SELECT count(*) FROM t; SELECT sum(a * b) FROM t; "
			 "PRAGMA integrity_check", show, NULL, NULL);
	return 0;
}
