/* SPDX-License-Identifier: Apache-2.0 */
/** Running JVMs for tests: starts a program on a JVM of this machine, and finds its symbols. Include after cmocka.h. */
#ifndef INTERPRETERS_JAVA_TESTS_LIVE_JAVA_H
#define INTERPRETERS_JAVA_TESTS_LIVE_JAVA_H

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpreters/java/java.h"
#include "interpreters/java/vm_structs.h"
#include "lib/base/error.h"
#include "lib/elf/elf_image.h"
#include "lib/host/mapped_file.h"
#include "lib/host/proc_maps.h"
#include "lib/host/remote_memory.h"

/** The default program; define another one before including this header. */
#ifndef LIVE_JAVA_SOURCE
#define LIVE_JAVA_SOURCE "interpreters/java/tests/JavaTarget.java"
#define LIVE_JAVA_CLASS "JavaTarget"
#endif

enum {
	LIVE_JAVA_MAX_OPTIONS = 12,
	/** For check_some_javas(). */
	LIVE_JAVA_ALL = -1,
};

struct live_java {
	pid_t pid;
	/** The output of the target, which ends when its input does. */
	FILE *output;
	int input;
	struct process_memory memory;
	struct vm_symbols symbols;
	uint64_t bias;
	/** The result of probing libjvm.so. */
	struct runtime_file *file;
};

/** The directory of the target's classes, compiled once for each test program; NULL: there is no compiler. */
static inline const char *live_java_classes(void)
{
	static char directory[] = "/tmp/allframes-java-XXXXXX", command[512];
	static const char *made;

	if (made)
		return made;
	if (!mkdtemp(directory))
		return NULL;
	/* Roots of other suites share /tmp with this one. */
	snprintf(command, sizeof(command),
		 "javac -encoding UTF-8 --release 8 -Xlint:-options -d %s " LIVE_JAVA_SOURCE,
		 directory);
	if (!system(command))
		made = directory;
	return made;
}

/** For the teardown of a group of tests. */
static inline int live_java_remove_classes(void **state)
{
	const char *directory = live_java_classes();
	char command[128];

	(void)state;
	if (!directory)
		return 0;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (system(command))
		perror(command);
	return 0;
}

static inline void find_javas(glob_t *found)
{
	char fetched[256];

	memset(found, 0, sizeof(*found));
	if (getenv("ALLFRAMES_ONLY_JAVA")) {
		glob(getenv("ALLFRAMES_ONLY_JAVA"), 0, NULL, found);
		return;
	}
	glob("/usr/lib/jvm/*/bin/java", 0, NULL, found);
	if (!getenv("ALLFRAMES_LONG"))
		return;
	snprintf(fetched, sizeof(fetched), "%s/.cache/allframes/javas/bin/*", getenv("HOME"));
	glob(fetched, GLOB_APPEND, NULL, found);
}

/* True if the path goes through a link to the folder of a JVM that is found by its own name. */
static inline bool is_other_name(const char *path)
{
	const char *end = strstr(path, "/bin/java");
	struct stat status;
	char folder[4096];

	if (!end)
		return false;
	snprintf(folder, sizeof(folder), "%.*s", (int)(end - path), path);
	return !lstat(folder, &status) && S_ISLNK(status.st_mode);
}

/**
 * Calls @check with each JVM of the machine, and in the long tier also with those of scripts/fetch_javas.py. Unless @one
 * is LIVE_JAVA_ALL the short tier takes only one JVM, the one of this index modulo their number. Skips the test if
 * there is none, or no compiler. Returns the number of failures.
 */
static inline uint32_t check_some_javas(bool (*check)(const char *path, const void *context),
					const void *context, int one)
{
	uint32_t failed = 0;
	size_t count = 0;
	glob_t found;

	find_javas(&found);
	if (!found.gl_pathc || !live_java_classes()) {
		globfree(&found);
		print_message("no JVM, or no compiler, here\n");
		skip();
	}
	for (size_t i = 0; i < found.gl_pathc; i++)
		count += !is_other_name(found.gl_pathv[i]);
	for (size_t i = 0, index = 0; i < found.gl_pathc; i++) {
		if (is_other_name(found.gl_pathv[i]))
			continue;
		if (one == LIVE_JAVA_ALL || getenv("ALLFRAMES_LONG") ||
		    index == (size_t)one % count)
			failed += !check(found.gl_pathv[i], context);
		index++;
	}
	globfree(&found);
	return failed;
}

/** check_some_javas() with all of them. */
static inline uint32_t check_javas(bool (*check)(const char *path, const void *context),
				   const void *context)
{
	return check_some_javas(check, context, LIVE_JAVA_ALL);
}

/** Starts the target; @options end with NULL. */
static inline int live_java_start(struct live_java *java, const char *path,
				  const char *const *options)
{
	const char *arguments[LIVE_JAVA_MAX_OPTIONS + 5] = { path };
	int input[2], output[2], count = 1;

	memset(java, 0, sizeof(*java));
	for (int i = 0; options[i] && i < LIVE_JAVA_MAX_OPTIONS; i++)
		arguments[count++] = options[i];
	arguments[count++] = "-cp";
	arguments[count++] = live_java_classes();
	arguments[count] = LIVE_JAVA_CLASS;
	if (pipe2(input, O_CLOEXEC) || pipe2(output, O_CLOEXEC))
		return -1;
	java->pid = fork();
	if (!java->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(input[0], 0);
		dup2(output[1], 1);
		unsetenv("ASAN_OPTIONS");
		setenv("LC_ALL", "C.UTF-8", 1);
		execv(path, (char *const *)arguments);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	java->input = input[1];
	java->output = fdopen(output[0], "r");
	return 0;
}

/** Finds HotSpot in the process: opens its memory, and sets symbols and bias; -ENOENT. */
static inline int live_java_find(struct live_java *java)
{
	struct proc_maps maps = { 0 };
	int err;

	process_memory_deinit(&java->memory);
	err = process_memory_init(&java->memory, "/proc", java->pid);
	if (!err)
		err = proc_maps_read(&maps, "/proc", java->pid, PROC_MAPS_EXECUTABLE);
	if (err)
		return err;
	err = -ENOENT;
	for (uint32_t i = 0; i < maps.count && err == -ENOENT; i++) {
		const struct proc_mapping *row = &maps.rows[i];
		struct elf_image image = { 0 };
		uint64_t address = 0;
		struct file_key key;
		int fd;

		if (mapped_file_open("/proc", java->pid, row, &fd, &key))
			continue;
		if (!elf_image_init_fd(&image, fd) &&
		    !elf_image_mapping_address(&image, row->offset, row->end - row->start,
					       &address))
			err = vm_symbols_find(&image, &java->symbols);
		if (!err)
			err = java_language.ops->probe(&image, row->path, &java->file);
		java->bias = row->start - address;
		elf_image_deinit(&image);
		close(fd);
	}
	proc_maps_deinit(&maps);
	return err;
}

static inline void live_java_stop(struct live_java *java)
{
	close(java->input);
	fclose(java->output);
	kill(java->pid, SIGKILL);
	waitpid(java->pid, NULL, 0);
	process_memory_deinit(&java->memory);
	if (java->file)
		java_language.ops->release(java->file);
}

#endif
