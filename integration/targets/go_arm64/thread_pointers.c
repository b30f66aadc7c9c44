// SPDX-License-Identifier: Apache-2.0
/*
 * Preloaded into the targets with C that go_arm64_test.py runs: each thread that the C library starts
 * adds its number and its thread pointer to the file $CORE_THREADS, for qemu-user writes none into core
 * files. It leaves no frame behind.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef void *thread_function(void *);
typedef int create_function(pthread_t *, const pthread_attr_t *, thread_function *, void *);

struct start {
	thread_function *function;
	void *argument;
};

__attribute__((constructor)) static void tell(void)
{
	char line[64];
	int size = snprintf(line, sizeof(line), "%d %p\n", gettid(), __builtin_thread_pointer());
	int fd = open(getenv("CORE_THREADS"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	if (write(fd, line, size) != size)
		abort();
	close(fd);
}

static void *begin(void *argument)
{
	struct start start = *(struct start *)argument;

	free(argument);
	tell();
	return start.function(start.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, thread_function *function,
		   void *argument)
{
	create_function *create = (create_function *)dlsym(RTLD_NEXT, "pthread_create");
	struct start *start = malloc(sizeof(*start));

	*start = (struct start){ function, argument };
	return create(thread, attributes, begin, start);
}
