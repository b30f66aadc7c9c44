/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the page asks for, answered from the history: no HTTP here. One thread.
 */
#ifndef VIEWER_API_H
#define VIEWER_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/symbol_lookup.h"
#include "viewer/history.h"

/** What the answers say of the agent and the machine. */
struct api_totals {
	uint64_t samples, idle, lost, complete, guesses, errors;
	/** Binaries whose debug data is still to be read, and a number that grows when names get better. */
	uint64_t names_pending, names_generation;
};

struct api_config {
	struct history *history;
	/** Native names; NULL for none. For the viewer's thread alone. */
	struct symbol_lookup *lookup;
	/** Fills @totals. May be NULL. */
	void (*read_totals)(void *context, struct api_totals *totals);
	void *context;
	const char *version;
	const char *host;
	const char *kernel;
	/** "this machine", or the file that is shown. */
	const char *source;
	bool is_live;
	uint32_t samples_per_second;
	uint32_t cpu_count;
	uint64_t retention_ns;
	/** The same moment by both clocks: the history's time 0. */
	uint64_t epoch_realtime_ns;
	uint64_t epoch_monotonic_ns;
	/** The page that exports put their data into; NULL: no such export. */
	const char *export_page;
	size_t export_page_bytes;
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
	/** The caller's, to be freed. */
	char *body;
	size_t bytes;
	/** Of a download, else "". */
	char file_name[128];
};

struct api;

/** @config and what it points to are borrowed, but copied itself. -ENOMEM. */
int api_create(const struct api_config *config, struct api **api);
void api_destroy(struct api *api);

/** Always fills @answer, without a body where there is no memory. */
void api_answer(struct api *api, const struct api_request *request, struct api_answer *answer);

#endif
