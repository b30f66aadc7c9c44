/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/debuginfod.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/child_process.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/base/log.h"
#include "lib/model/metrics.h"

struct debuginfod {
	struct debuginfod_options options;
	pthread_t thread;
	bool has_thread;
	/* Becomes readable at the stop. */
	int stop_fd;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Guarded by the lock: */
	bool is_stopping;
	struct binary *waiting[DEBUGINFOD_MAX_WAITING];
	size_t first;
	size_t count;
	/* The requested build ids; the value is 1. */
	struct hash_map asked;
};

int debuginfod_directory(char *path, size_t size)
{
	const char *cache = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	struct stat status;
	int length = -1;

	if (cache && *cache)
		length = snprintf(path, size, "%s", cache);
	else if (home && *home) {
		/* The directory of older clients is used if it exists. */
		length = snprintf(path, size, "%s/.debuginfod_client_cache", home);
		if (length < (int)size && stat(path, &status))
			length = xdg && *xdg ?
					 snprintf(path, size, "%s/debuginfod_client", xdg) :
					 snprintf(path, size, "%s/.cache/debuginfod_client", home);
	}
	if (length < 0)
		return -ENOENT;
	return length < (int)size ? 0 : -E2BIG;
}

/* --- requests --- */

void debuginfod_want(struct debuginfod *debuginfod, struct binary *binary)
{
	struct hash_map *asked = &debuginfod->asked;

	if (!binary->build_id_bytes)
		return;
	pthread_mutex_lock(&debuginfod->lock);
	if (!debuginfod->is_stopping && debuginfod->count < DEBUGINFOD_MAX_WAITING &&
	    !hash_map_find_bytes(asked, binary->build_id, binary->build_id_bytes, NULL)) {
		if (asked->count >= DEBUGINFOD_MAX_ASKED)
			hash_map_deinit(asked);
		/* Without memory the build id is requested again. */
		(void)hash_map_set_bytes(asked, binary->build_id, binary->build_id_bytes, 1);
		debuginfod->waiting[(debuginfod->first + debuginfod->count++) %
				    DEBUGINFOD_MAX_WAITING] = binary_ref(binary);
		pthread_cond_signal(&debuginfod->changed);
	}
	pthread_mutex_unlock(&debuginfod->lock);
}

/* NULL: the thread must end. */
static struct binary *next_wanted(struct debuginfod *debuginfod)
{
	struct binary *binary = NULL;

	pthread_mutex_lock(&debuginfod->lock);
	while (!debuginfod->is_stopping && !debuginfod->count)
		pthread_cond_wait(&debuginfod->changed, &debuginfod->lock);
	if (!debuginfod->is_stopping) {
		binary = debuginfod->waiting[debuginfod->first];
		debuginfod->first = (debuginfod->first + 1) % DEBUGINFOD_MAX_WAITING;
		debuginfod->count--;
	}
	pthread_mutex_unlock(&debuginfod->lock);
	return binary;
}

/* --- the client --- */

/* Waits until the client ends, or until it must be ended. */
static void wait_for_end(const struct debuginfod *debuginfod, int pid_fd)
{
	uint64_t deadline_ns = clock_monotonic_ns() + debuginfod->options.timeout_ns;
	struct pollfd polled[] = {
		{ .fd = pid_fd, .events = POLLIN },
		{ .fd = debuginfod->stop_fd, .events = POLLIN },
	};
	uint64_t now_ns;

	while ((now_ns = clock_monotonic_ns()) < deadline_ns) {
		uint64_t left_ms = (deadline_ns - now_ns) / NS_PER_MS + 1;
		int count = poll(polled, 2, left_ms < INT32_MAX ? (int)left_ms : INT32_MAX);

		if (count > 0 || (count < 0 && errno != EINTR))
			return;
	}
}

static bool fetch(const struct debuginfod *debuginfod, const struct binary *binary)
{
	char name[] = DEBUGINFOD_PROGRAM, kind[] = DEBUGINFOD_KIND;
	char digits[2 * BUILD_ID_MAX_BYTES + 1];
	char *arguments[] = { name, kind, digits, NULL };
	struct child_process child;
	int status;

	for (uint32_t i = 0; i < binary->build_id_bytes; i++)
		sprintf(digits + 2 * (size_t)i, "%02x", binary->build_id[i]);
	if (child_process_start_bound(debuginfod->options.program, arguments, &child)) {
		log_debug("no debug file of %s: %s", binary->path, error_text());
		return false;
	}
	wait_for_end(debuginfod, child.pid_fd);
	close(child.pid_fd);
	/* This has no effect on a client that has ended. */
	kill(child.pid, SIGKILL);
	while (waitpid(child.pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void *run_thread(void *argument)
{
	struct debuginfod *debuginfod = argument;
	struct binary *binary;

	pthread_setname_np(pthread_self(), "debuginfod");
	while ((binary = next_wanted(debuginfod))) {
		if (fetch(debuginfod, binary)) {
			metrics_add(METRIC_DEBUG_FILES_FETCHED, 1);
			debuginfod->options.came(debuginfod->options.context, binary);
		}
		binary_unref(binary);
	}
	return NULL;
}

int debuginfod_create(const struct debuginfod_options *options, struct debuginfod **created)
{
	struct debuginfod *debuginfod = calloc(1, sizeof(*debuginfod));
	int err;

	if (!debuginfod)
		return fail(-ENOMEM, "no memory for debuginfod");
	debuginfod->options = *options;
	pthread_mutex_init(&debuginfod->lock, NULL);
	pthread_cond_init(&debuginfod->changed, NULL);
	debuginfod->stop_fd = eventfd(0, EFD_CLOEXEC);
	err = debuginfod->stop_fd < 0 ?
		      -errno :
		      -pthread_create(&debuginfod->thread, NULL, run_thread, debuginfod);
	debuginfod->has_thread = !err;
	if (err) {
		debuginfod_destroy(debuginfod);
		return fail_errno(err, "cannot start the thread for debuginfod");
	}
	*created = debuginfod;
	return 0;
}

void debuginfod_stop(struct debuginfod *debuginfod)
{
	if (!debuginfod || !debuginfod->has_thread)
		return;
	pthread_mutex_lock(&debuginfod->lock);
	debuginfod->is_stopping = true;
	pthread_cond_signal(&debuginfod->changed);
	pthread_mutex_unlock(&debuginfod->lock);
	eventfd_write(debuginfod->stop_fd, 1);
	pthread_join(debuginfod->thread, NULL);
	debuginfod->has_thread = false;
}

void debuginfod_destroy(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	debuginfod_stop(debuginfod);
	for (; debuginfod->count; debuginfod->count--) {
		binary_unref(debuginfod->waiting[debuginfod->first]);
		debuginfod->first = (debuginfod->first + 1) % DEBUGINFOD_MAX_WAITING;
	}
	hash_map_deinit(&debuginfod->asked);
	close_fd(&debuginfod->stop_fd);
	pthread_cond_destroy(&debuginfod->changed);
	pthread_mutex_destroy(&debuginfod->lock);
	free(debuginfod);
}
