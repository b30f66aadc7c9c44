/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds the lock of its own memory until the file system of argument 1 accepts a page: one thread maps
 * something over a dirty page of that file, which the kernel writes first. The main thread computes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

static char *page;
static volatile pid_t holder;

static void *replace(void *unused)
{
	holder = gettid();
	mmap(page, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
	     0);
	return unused;
}

/* Whether a thread of ours waits in the kernel. */
static int is_waiting(pid_t tid)
{
	char path[64], text[256], *end;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY);
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	end = strrchr(text, ')');
	return end && end[2] == 'D';
}

__attribute__((noipa)) static unsigned long holding_spin(void)
{
	volatile unsigned long sum = 0;

	for (;;)
		sum++;
	return sum;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDWR) : -1;
	pthread_t thread;

	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	page[0] = 1;
	if (pthread_create(&thread, NULL, replace, NULL))
		return 2;
	while (!holder || !is_waiting(holder))
		usleep(1000);
	/* Nothing that takes memory may be called from here on. */
	if (write(1, "ready\n", 6) != 6)
		return 2;
	return (int)holding_spin();
}
