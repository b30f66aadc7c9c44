/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Answers the page's requests from the history, as viewer/page/API.md describes. There is no HTTP
 * here. One thread.
 */
#ifndef VIEWER_API_H
#define VIEWER_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/hanging_processes.h"
#include "lib/model/profile_facts.h"
#include "lib/model/symbol_lookup.h"
#include "viewer/history.h"

struct path_judge;
struct cost_facts;
struct process_costs;

/** Facts about the agent, apart from its samples. */
struct api_totals {
	uint64_t samples;
	uint64_t idle;
	uint64_t lost;
	uint64_t complete;
	uint64_t guesses;
	uint64_t errors;
	/**
	 * Age in ms of the oldest waiting sample and of the oldest waiting process event. 0:
	 * nothing waits.
	 */
	uint64_t oldest_sample_ms;
	uint64_t oldest_event_ms;
	/** Processes whose memory or files do not respond. */
	uint32_t hanging_count;
	uint32_t hanging_pids[HANGING_PROCESSES_MAX];
	/**
	 * Binaries whose debug data is still to be read, and a number that grows when names get
	 * better.
	 */
	uint64_t names_pending;
	uint64_t names_generation;
};

/** Strings are borrowed. */
struct api_config {
	struct history *history;
	/**
	 * Names of native frames; NULL for none. Used only by the thread that calls api_answer().
	 */
	struct symbol_lookup *lookup;
	/** Fills *@totals, which is zeroed, for samples with values of @type. May be NULL. */
	void (*read_totals)(void *context, uint32_t type, struct api_totals *totals);
	/**
	 * Hands the costs of each process to @take, and fills *@facts; false if costs are not counted. May be NULL, too.
	 */
	bool (*read_costs)(void *context,
			   void (*take)(void *taker, const struct process_costs *process),
			   void *taker, struct cost_facts *facts);
	void *context;
	const char *version;
	const char *host;
	const char *kernel;
	/** The options that selected processes, such as "-pid 12"; NULL or "" if all were sampled. */
	const char *selection;
	/** "this machine", or the name of the opened file. */
	const char *source;
	bool is_live;
	bool token_needed;
	/** Exported OTLP has command lines of processes, which can hold secrets. */
	bool exports_command_lines;
	/** Answers have them. */
	bool shows_command_lines;
	uint32_t samples_per_second;
	uint32_t cpu_count;
	/** 0: unlimited. */
	uint64_t retention_ns;
	/** The history's time 0 by both clocks. */
	uint64_t epoch_realtime_ns;
	uint64_t epoch_monotonic_ns;
	/**
	 * Facts that an opened profile states about itself; the samples' origins are the types of their values. NULL: the samples
	 * are the agent's, and each counts as one.
	 */
	const struct profile_facts *facts;
	/**
	 * The weight that the agent's samples have beside their count (enum sample_weight), and whether its values are shown first.
	 * 0: there is none.
	 */
	uint8_t weight;
	bool shows_weight;
	/**
	 * Where processes are found, in whose roots the package databases are, and where these may be read. NULL: the samples' files are
	 * not this machine's.
	 */
	const char *proc_root;
	const struct path_judge *judge;
};

/** Decoded by the HTTP server; may hold any byte but NUL. */
struct api_parameter {
	const char *name;
	const char *value;
};

struct api_request {
	/** The path after "/api/". */
	const char *path;
	const struct api_parameter *parameters;
	size_t parameter_count;
	bool is_post;
	/** The header that says what the client takes; NULL: there is none. */
	const char *accept;
};

struct api_answer {
	/** The HTTP status. */
	unsigned int status;
	const char *content_type;
	/** The caller frees it; NULL only without memory. */
	char *body;
	size_t bytes;
	/** File name of a download, else "". */
	char file_name[128];
};

struct api;

/** *@config is copied. -ENOMEM. */
int api_create(const struct api_config *config, struct api **api);
void api_destroy(struct api *api);

/**
 * Frees what the history no longer has, and after some calls without a request all that was made to answer. Call it every ten
 * seconds or so, also while there are no requests.
 */
void api_tidy(struct api *api);

/** Fills *@answer for any request. */
void api_answer(struct api *api, const struct api_request *request, struct api_answer *answer);

#endif
