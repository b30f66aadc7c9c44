/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Samples to OTLP: messages ExportProfilesServiceRequest (the same bytes as ProfilesData) of the
 * OpenTelemetry protocol 1.10, as the .proto files in proto/ describe them. One request holds its
 * own dictionary; what does not fit one goes on in the next.
 */
#ifndef REPORTER_OTLP_PROFILE_H
#define REPORTER_OTLP_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/symbol_lookup.h"
#include "reporter/sample_store.h"

/** Which samples share a resource, and so which attributes stand there and not on each sample. */
enum resource_grouping {
	/** One resource per container and service. */
	GROUP_BY_CONTAINER,
	GROUP_BY_PROCESS,
	/** One resource per service, whatever container it runs in. */
	GROUP_BY_SERVICE,
};

/** A key and its value, both texts of the user or of the host. */
struct otlp_attribute {
	const char *key;
	const char *value;
};

/** Borrowed, and the same for all requests of a run. */
struct otlp_options {
	enum resource_grouping grouping;
	uint32_t samples_per_second;
	/** Version of the agent, for the scope; NULL is "". */
	const char *agent_version;
	/** host.name, host.id, host.arch, os.type, -tags: on every resource; a later one wins. */
	const struct otlp_attribute *attributes;
	size_t attribute_count;
	/** Names of native frames; what it does not name goes as file and address, for the backend. */
	struct symbol_lookup *lookup;
	/**
	 * Bound on the uncompressed bytes of one request; SIZE_MAX: all in one. Only a stack that
	 * is larger by itself goes over it, alone in its request.
	 */
	size_t max_request_bytes;
};

/** The interval in which the samples were taken. */
struct otlp_window {
	/** CLOCK_MONOTONIC. */
	uint64_t start_ns;
	uint64_t end_ns;
	/** CLOCK_REALTIME - CLOCK_MONOTONIC. */
	int64_t realtime_offset_ns;
};

struct otlp_request {
	/** malloc'ed, of the one that holds the request. */
	uint8_t *bytes;
	size_t byte_count;
	uint64_t sample_count;
	/** How often it was sent so far. */
	uint32_t try_count;
};

/** Takes over @request->bytes, whatever it returns; anything but 0 ends the building. */
typedef int (*otlp_request_fn)(void *context, struct otlp_request *request);

/**
 * Builds the requests for all of @snapshot, whose samples have times, and hands each to @take; none
 * if there are no samples. 0, -ENOMEM, -EINVAL where times are missing, or what @take returned.
 */
int otlp_build_requests(const struct sample_snapshot *snapshot, const struct otlp_window *window,
			const struct otlp_options *options, otlp_request_fn take, void *context);

#endif
