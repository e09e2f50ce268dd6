/*
 * A thread that computes may lose its processor between any two instructions, and go on on another
 * one.  All of its registers must be what they were: general ones, vectors, masks, x87, the modes
 * of both floating-point units, the flags, and the 128 bytes below the stack pointer.
 */
#include <pthread.h>
#include <stdint.h>

#include "check.h"

enum { THREADS = 6, LAPS = 40, SPIN = 400000 };

static int have_avx512, have_avx;

/* Spins between loading and storing; %rcx counts. */
#define SPIN_ASM "1:\n\tdec %%rcx\n\tjnz 1b\n\t"

static void vectors(uint64_t seed)
{
	uint64_t in[8 * 32], out[8 * 32], n = SPIN;
	int width = have_avx512 ? 8 : have_avx ? 4 : 2, count = have_avx512 ? 32 : 16;

	for (int i = 0; i < count * width; i++)
		in[i] = seed * 0x9e3779b97f4a7c15u + (uint64_t)i;
	memset(out, 0, sizeof out);
	if (have_avx512) {
		uint64_t k[2]; /* the compiler uses neither masks nor the upper registers here */

#define Z(op, r) #op " 64*" #r "(%[in]), %%zmm" #r "\n\t"
#define ZS(r) "vmovdqu64 %%zmm" #r ", 64*" #r "(%[out])\n\t"
		__asm__ volatile(
			Z(vmovdqu64, 0) Z(vmovdqu64, 1) Z(vmovdqu64, 2) Z(vmovdqu64, 7)
			Z(vmovdqu64, 15) Z(vmovdqu64, 16) Z(vmovdqu64, 23) Z(vmovdqu64, 31)
			"kmovw %%esi, %%k1\n\tkmovw %%edi, %%k7\n\t"
			SPIN_ASM
			"kmovw %%k1, %%esi\n\tkmovw %%k7, %%edi\n\t"
			ZS(0) ZS(1) ZS(2) ZS(7) ZS(15) ZS(16) ZS(23) ZS(31)
			: "=S"(k[0]), "=D"(k[1]), "+c"(n)
			: [in] "r"(in), [out] "r"(out), "0"(seed & 0xffff), "1"(~seed & 0xffff)
			: "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm7", "xmm15");
		CHECK_EQ(k[0], seed & 0xffff);
		CHECK_EQ(k[1], ~seed & 0xffff);
		for (int r = 0; r < 32; r++)
			if (r <= 2 || r == 7 || r == 15 || r == 16 || r == 23 || r == 31)
				CHECK(!memcmp(in + 8 * r, out + 8 * r, 64));
	} else if (have_avx) {
#define Y(r) "vmovdqu 32*" #r "(%[in]), %%ymm" #r "\n\t"
#define YS(r) "vmovdqu %%ymm" #r ", 32*" #r "(%[out])\n\t"
		__asm__ volatile(Y(0) Y(1) Y(2) Y(7) Y(15) SPIN_ASM YS(0) YS(1) YS(2) YS(7) YS(15)
				 : "+c"(n)
				 : [in] "r"(in), [out] "r"(out)
				 : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm7", "xmm15");
		for (int r = 0; r < 16; r++)
			if (r <= 2 || r == 7 || r == 15)
				CHECK(!memcmp(in + 4 * r, out + 4 * r, 32));
	} else {
#define X(r) "movdqu 16*" #r "(%[in]), %%xmm" #r "\n\t"
#define XS(r) "movdqu %%xmm" #r ", 16*" #r "(%[out])\n\t"
		__asm__ volatile(X(0) X(1) X(2) X(7) X(15) SPIN_ASM XS(0) XS(1) XS(2) XS(7) XS(15)
				 : "+c"(n)
				 : [in] "r"(in), [out] "r"(out)
				 : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm7", "xmm15");
		for (int r = 0; r < 16; r++)
			if (r <= 2 || r == 7 || r == 15)
				CHECK(!memcmp(in + 2 * r, out + 2 * r, 16));
	}
}

static void integers(uint64_t seed)
{
	uint64_t a = seed, b = seed + 1, d = seed + 2, r8 = 0, r15 = 0, flags = 0, n = SPIN;

	/*
	 * A copy below the stack pointer, which nobody may touch; and the carry, which dec leaves
	 * alone.
	 */
	__asm__ volatile("mov %[d], -8(%%rsp)\n\t"
			 "mov %[d], -128(%%rsp)\n\t"
			 "mov %[d], %%r9\n\t"
			 "lea 5(%[d]), %%r14\n\t"
			 "stc\n\t" SPIN_ASM
			 "setc %b[flags]\n\t"
			 "mov %%r9, %[r8]\n\t"
			 "mov %%r14, %[r15]\n\t"
			 "mov -8(%%rsp), %[d]\n\t"
			 "sub -128(%%rsp), %[d]\n\t"
			 : [d] "+d"(d), [r8] "=&r"(r8), [r15] "=&r"(r15), "+c"(n), "+S"(a), "+D"(b),
			   [flags] "+a"(flags)
			 :
			 : "r9", "r14", "memory", "cc");
	CHECK_EQ(a, seed);
	CHECK_EQ(b, seed + 1);
	CHECK_EQ(d, 0);
	CHECK_EQ(r8, seed + 2);
	CHECK_EQ(r15, seed + 7);
	CHECK_EQ(flags, 1);
}

static void floating(uint64_t seed)
{
	static const uint32_t rounding[] = { 0x1f80, 0x3f80, 0x5f80, 0x7f80 };
	uint32_t mxcsr = rounding[seed % 4], was, now;
	uint16_t cw = (uint16_t)(0x037f | (seed % 4) << 10), oldcw, newcw;
	double x = (double)seed + 0.25, y = 0;
	uint64_t n = SPIN;

	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(was), "=m"(oldcw));
	__asm__ volatile("ldmxcsr %[mxcsr]\n\tfldcw %[cw]\n\tfldl %[x]\n\tfld1\n\t" SPIN_ASM
			 "fsubrp\n\tfstpl %[y]\n\tstmxcsr %[now]\n\tfnstcw %[newcw]"
			 : [y] "=m"(y), [now] "=m"(now), [newcw] "=m"(newcw), "+c"(n)
			 : [x] "m"(x), [mxcsr] "m"(mxcsr), [cw] "m"(cw)
			 : "st", "st(1)", "cc");
	__asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(was), "m"(oldcw));
	CHECK_EQ(now & 0xff80, mxcsr);
	CHECK_EQ(newcw, cw);
	CHECK(y == 1 - x || y == x - 1);
}

static void *compute(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg;

	for (int lap = 0; lap < LAPS; lap++) {
		vectors(seed * 1000 + (uint64_t)lap);
		integers(seed * 1000 + (uint64_t)lap);
		floating(seed * 1000 + (uint64_t)lap);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	have_avx512 = __builtin_cpu_supports("avx512f") != 0;
	have_avx = __builtin_cpu_supports("avx") != 0;
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&t[i], NULL, compute, (void *)(i + 1)));
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_join(t[i], NULL));
	passed("%d threads computed %d laps", THREADS, LAPS);
	return 0;
}
