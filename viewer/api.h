/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the page asks for, answered from the history as viewer/page/API.md has it: no HTTP here. One thread.
 */
#ifndef VIEWER_API_H
#define VIEWER_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/hanging_processes.h"
#include "lib/model/symbol_lookup.h"
#include "viewer/history.h"

/** What the answers say of the agent beside its samples. */
struct api_totals {
	uint64_t samples;
	uint64_t idle;
	uint64_t lost;
	uint64_t complete;
	uint64_t guesses;
	uint64_t errors;
	/** How old, in ms, what waits longest is: of samples, and of news of processes. 0: nothing waits. */
	uint64_t oldest_sample_ms;
	uint64_t oldest_event_ms;
	/** Processes whose memory or files do not answer. */
	uint32_t hanging_count;
	uint32_t hanging_pids[HANGING_PROCESSES_MAX];
	/** Binaries whose debug data is still to be read, and a number that grows when names get better. */
	uint64_t names_pending;
	uint64_t names_generation;
};

/** Strings are borrowed. */
struct api_config {
	struct history *history;
	/** Native names; NULL for none. For the thread that asks alone. */
	struct symbol_lookup *lookup;
	/** Fills *@totals, which is zeroed. May be NULL. */
	void (*read_totals)(void *context, struct api_totals *totals);
	void *context;
	const char *version;
	const char *host;
	const char *kernel;
	/** "this machine", or the file that is shown. */
	const char *source;
	bool is_live;
	bool token_needed;
	uint32_t samples_per_second;
	uint32_t cpu_count;
	/** 0: without end. */
	uint64_t retention_ns;
	/** The same moment by both clocks: the history's time 0. */
	uint64_t epoch_realtime_ns;
	uint64_t epoch_monotonic_ns;
};

/** Decoded by who speaks HTTP; may hold any byte but NUL. */
struct api_parameter {
	const char *name;
	const char *value;
};

struct api_request {
	/** Behind "/api/". */
	const char *path;
	const struct api_parameter *parameters;
	size_t parameter_count;
	bool is_post;
};

struct api_answer {
	/** Of HTTP. */
	unsigned int status;
	const char *content_type;
	/** The caller's, to be freed; NULL only without memory. */
	char *body;
	size_t bytes;
	/** Of a download, else "". */
	char file_name[128];
};

struct api;

/** *@config is copied. -ENOMEM. */
int api_create(const struct api_config *config, struct api **api);
void api_destroy(struct api *api);

/** To be called now and then, also while nobody asks: lets go of what the history no longer has. */
void api_tidy(struct api *api);

/** Fills *@answer, whatever is asked for. */
void api_answer(struct api *api, const struct api_request *request, struct api_answer *answer);

#endif
