// SPDX-License-Identifier: Apache-2.0
/* Functions that main.go calls, and that call main.go. */
#include "_cgo_export.h"

/* On arm64 Go keeps its g in x28, which C may use freely. */
#ifdef __aarch64__
#define USE_REGISTER_OF_G() __asm__ volatile("mov x28, #1" ::: "x28")
#else
#define USE_REGISTER_OF_G()
#endif

__attribute__((noinline)) int c_spin(int n)
{
	USE_REGISTER_OF_G();
	for (volatile int i = 0; i < 20000; i++)
		n = n * 31 + i;
	return n & 0xff;
}

__attribute__((noinline)) int c_call(int (*function)(int), int n)
{
	return function(n) + 1;
}

int c_alone(int n)
{
	return c_spin(n) + 1;
}

int c_outer(int n, int is_nested)
{
	return c_call(is_nested ? goMiddle : goInner, n) + 1;
}

int c_inner(int n)
{
	return c_spin(n) + c_call(goInner, n) + 1;
}
