/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The thread that loads the unwinders of languages (bpf_loader_load_language()), each once a file that is a runtime of it is
 * found: the kernel takes far longer to verify them than everything else, and most machines run few languages.
 */
#ifndef AGENT_LANGUAGE_LOADING_H
#define AGENT_LANGUAGE_LOADING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_loader;

/** All zero: not started. The first fields belong to the thread that starts it. */
struct language_loading {
	struct bpf_loader *loader;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/** With the lock. Sets of languages: bit i is row i of LANGUAGES. One that the kernel refused counts as loaded. */
	uint32_t wanted;
	uint32_t loaded;
	/** The loading thread's id, while it loads one; else 0. */
	pid_t busy_tid;
	bool is_stopping;
};

/** @loader is borrowed until stop. -errno. */
int language_loading_start(struct language_loading *loading, struct bpf_loader *loader);

/** Any thread, from start on. Has the unwinder of the language with index @language loaded, unless it is. */
void language_loading_want(struct language_loading *loading, uint32_t language);

/** Whether all unwinders that are wanted so far have been loaded. */
bool language_loading_is_done(struct language_loading *loading);

/**
 * Stops after the language that is being loaded, and waits for that. Takes a struct that was not started, or was
 * stopped. language_loading_want() has no effect from then on.
 */
void language_loading_stop(struct language_loading *loading);

#endif
