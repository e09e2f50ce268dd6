/* Matrix products of small whole numbers, so that every order of adding gives the same; from four threads at once. */
#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 320, THREADS = 4 };

static void *product(void *arg)
{
	double *a = malloc(sizeof(double[N][N])), *b = malloc(sizeof(double[N][N])), *c = calloc(N * N, sizeof(double));
	double sum = 0;

	for (int i = 0; i < N * N; i++) {
		a[i] = i * 7919 % 13;
		b[i] = (i + (int)(long)arg) * 104729 % 11;
	}
	for (int r = 0; r < 5; r++)
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N, N, N, 1, a, N, b, N, r > 0, c, N);
	for (int i = 0; i < N * N; i++)
		sum += c[i] * (i % 7);
	free(a), free(b), free(c);
	return (void *)(long)sum;
}

int main(void)
{
	pthread_t t[THREADS];
	void *r;

	printf("%ld\n", (long)product(NULL));
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, product, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &r);
		printf("%ld\n", (long)r);
	}
	return 0;
}
