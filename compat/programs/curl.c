/* libcurl in several threads, each with transfers of its own; names are looked up by threads that it makes. */
#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 6, FILES = 20 };

static const char *base;

static size_t count(char *p, size_t size, size_t n, void *arg)
{
	*(long *)arg += (long)(size * n);
	return size * n;
}

static void *run(void *arg)
{
	CURL *c = curl_easy_init();
	char url[500];
	long bytes = 0;

	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, count);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &bytes);
	for (int i = 1; i <= FILES; i++) {
		snprintf(url, sizeof(url), "%s/f%d", base, i);
		curl_easy_setopt(c, CURLOPT_URL, url);
		if (curl_easy_perform(c))
			bytes = -1000000000;
	}
	/* A port where nobody listens: the name has been looked up before that is found out. */
	curl_easy_setopt(c, CURLOPT_URL, "http://localhost:1/");
	if (curl_easy_perform(c) != CURLE_COULDNT_CONNECT)
		bytes++;
	curl_easy_cleanup(c);
	return (void *)bytes;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	void *bytes;

	base = argv[1];
	curl_global_init(CURL_GLOBAL_ALL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &bytes);
		printf("%ld\n", (long)bytes);
	}
	return 0;
}
