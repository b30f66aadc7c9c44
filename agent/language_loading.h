/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The thread that loads the unwinders of languages (bpf_loader_load_languages()) while sampling has already
 * begun, and then ends.
 */
#ifndef AGENT_LANGUAGE_LOADING_H
#define AGENT_LANGUAGE_LOADING_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

struct bpf_loader;

/** Owned by the thread that starts it. All zero: not started. */
struct language_loading {
	struct bpf_loader *loader;
	pthread_t thread;
	bool has_thread;
	/** Atomic: */
	pid_t tid;
	bool is_stopping;
	bool is_done;
};

/** @loader is borrowed until stop. -errno. */
int language_loading_start(struct language_loading *loading, struct bpf_loader *loader);

/** Whether the loading is finished. */
bool language_loading_is_done(const struct language_loading *loading);

/**
 * Stops after the program that is being loaded, and waits for that; takes a struct that was not started, or was
 * stopped.
 */
void language_loading_stop(struct language_loading *loading);

#endif
