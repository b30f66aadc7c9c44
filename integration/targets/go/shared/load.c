// SPDX-License-Identifier: Apache-2.0
/*
 * A program in C with a library in Go that it loads and calls, from its main thread and from threads of
 * its own; the library calls C again.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*function)(int);

__attribute__((noinline)) int call_go(function work, int n)
{
	return work(n) + 1;
}

static void *thread_main(void *work)
{
	for (int n = 0;; n = call_go((function)work, n) & 0xff)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
	pthread_t thread;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	void *work = dlsym(library, "Work");

	for (int i = 0; i < 2; i++) {
		if (!work || pthread_create(&thread, NULL, thread_main, work))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	thread_main(work);
}
