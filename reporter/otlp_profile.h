/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Samples to OTLP: messages ExportProfilesServiceRequest (the same bytes as ProfilesData) of the
 * OpenTelemetry protocol 1.10, as the .proto files in proto/ describe them. Each request has its
 * own dictionary. Samples that do not fit go into the next request.
 */
#ifndef REPORTER_OTLP_PROFILE_H
#define REPORTER_OTLP_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/profile_facts.h"
#include "lib/model/symbol_lookup.h"
#include "reporter/profile_info.h"
#include "reporter/sample_store.h"

/**
 * Decides which samples share a resource, and so which attributes go on the resource instead of
 * each sample.
 */
enum resource_grouping {
	/** One resource per container and service. */
	GROUP_BY_CONTAINER,
	GROUP_BY_PROCESS,
	/** One resource per service, whatever container it runs in. */
	GROUP_BY_SERVICE,
};

/** Key and value are texts from the user or the host. */
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
	/**
	 * host.name, host.id, host.arch, os.type, -tags: set on every resource; of equal keys the
	 * last wins.
	 */
	const struct otlp_attribute *attributes;
	size_t attribute_count;
	/**
	 * Names of native frames; a frame without one is sent as file and address, which the
	 * backend names.
	 */
	struct symbol_lookup *lookup;
	/**
	 * Limit of the uncompressed bytes of one request; SIZE_MAX: everything in one request. Only
	 * a stack that is larger by itself exceeds it, alone in its request.
	 */
	size_t max_request_bytes;
	/** Command lines of processes go out too; they can hold secrets. */
	bool with_command_lines;
	/**
	 * Facts that an opened profile states about itself: the origin of a sample is the index of its type, and it has values.
	 * NULL: the samples are the agent's.
	 */
	const struct profile_facts *facts;
	/**
	 * Where the samples come from: the comments of each profile (pprof.profile.comment), and os.description of each resource. NULL:
	 * neither is sent.
	 */
	const struct profile_info *info;
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
	/** malloc'ed; owned by the holder of the request. */
	uint8_t *bytes;
	size_t byte_count;
	/** Samples, or data points of metrics. */
	uint64_t sample_count;
	/** How often it has been sent. */
	uint32_t try_count;
};

/** Takes over @request->bytes in any case; any result but 0 stops the building. */
typedef int (*otlp_request_fn)(void *context, struct otlp_request *request);

/**
 * Builds the requests for all of @snapshot, whose samples have times, and passes each to @take.
 * Builds none if there are no samples. Returns 0, -ENOMEM, -EINVAL if times are missing, or the
 * result of @take.
 */
int otlp_build_requests(const struct sample_snapshot *snapshot, const struct otlp_window *window,
			const struct otlp_options *options, otlp_request_fn take, void *context);

#endif
