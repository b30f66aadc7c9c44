/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads beside the main one, with calls through pointers and through libc's qsort.
 *
 * chain: THREAD > work (sort|call) ANY*
 * chain: THREAD __ctype_init
 * chain: CLONE
 * chain: thread_start
 * chain: START main > (\w*pthread_\w+|ready|__libc_write) ANY*
 */
#include <pthread.h>
#include <stdlib.h>

#include "ready.h"

#define NOINLINE __attribute__((noinline, noclone))

enum { NUMBERS = 500 };

static NOINLINE unsigned leaf(unsigned value)
{
	for (int i = 0; i < 200; i++)
		value = value * 1103515245 + 12345;
	return value;
}

static NOINLINE unsigned call(unsigned (*volatile function)(unsigned), unsigned value)
{
	return function(value) + 1;
}

static int compare(const void *a, const void *b)
{
	const unsigned *first = a, *second = b;

	return (*first > *second) - (*first < *second);
}

static NOINLINE unsigned sort(unsigned seed)
{
	unsigned numbers[NUMBERS];

	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = seed = seed * 1103515245 + 12345;
	qsort(numbers, NUMBERS, sizeof(numbers[0]), compare);
	return numbers[NUMBERS / 2];
}

static void *work(void *argument)
{
	unsigned value = 1;

	(void)argument;
	for (;;)
		value = call(leaf, sort(value));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	(void)argc;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	ready(argv[1]);
	pthread_join(threads[0], NULL);
	return 0;
}
