/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Fixture for tests of /proc readers: a folder that pretends to be /proc, and processes whose leader has
 * exited.
 */
#ifndef LIB_HOST_TESTS_PROC_FIXTURE_H
#define LIB_HOST_TESTS_PROC_FIXTURE_H

#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static inline int remove_entry(const char *path, const struct stat *status, int type,
			       struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

static inline void remove_folder(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/** Writes @text to @root/@name, making the folders above. */
static inline void write_fake_bytes(const char *root, const char *name, const void *bytes,
				    size_t size)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert(fd >= 0);
	assert(write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static inline void write_fake_file(const char *root, const char *name, const char *text)
{
	write_fake_bytes(root, name, text, strlen(text));
}

static void *sleep_in_thread(void *argument)
{
	(void)argument;
	/* Whatever becomes of the test, this thread must not outlive it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
	return NULL;
}

/** Starts a process whose leader exits and whose second thread lives on; returns its pid. */
static inline pid_t start_without_leader(void)
{
	char path[64], state = '?';
	pid_t pid = fork();

	assert(pid >= 0);
	if (!pid) {
		pthread_t thread;

		pthread_create(&thread, NULL, sleep_in_thread, NULL);
		pthread_exit(NULL);
	}
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (state != 'Z') {
		FILE *file = fopen(path, "r");

		assert(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
		fclose(file);
		usleep(1000);
	}
	return pid;
}

static inline void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
