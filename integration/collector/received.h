/* SPDX-License-Identifier: Apache-2.0 */
/**
 * All requests that the collector has received: each is checked by all rules and counted; stacks
 * are merged by their text. A profile whose profile_id was seen before is a repeat, and its samples
 * are counted once.
 */
#ifndef INTEGRATION_COLLECTOR_RECEIVED_H
#define INTEGRATION_COLLECTOR_RECEIVED_H

#include "integration/collector/answers.h"
#include "integration/collector/received_metrics.h"
#include "integration/collector/stack_texts.h"

enum {
	/** Uncompressed size that every receiver accepts. */
	REQUEST_MAX_BYTES = 3670016,
	/** Default limit of collectors. */
	RECEIVE_MAX_BYTES = 4 << 20,
	/** Limits of the data that is kept for the report. */
	REQUEST_LOG_MAX = 100000,
	ATTRIBUTE_USES_MAX = 1000,
	ATTRIBUTE_VALUES_MAX = 64,
	ATTRIBUTE_TEXT_BYTES = 128,
};

/** A received request. Borrowed. */
struct incoming {
	/** Decompressed; empty if it was over RECEIVE_MAX_BYTES or could not be decompressed. */
	struct span bytes;
	size_t raw_bytes;
	size_t wire_bytes;
	bool is_gzip;
	bool is_readable;
	/** An ExportMetricsServiceRequest. */
	bool is_metrics;
	/** CLOCK_REALTIME. */
	uint64_t time_ns;
	struct answer answer;
};

/** Facts about one request. */
struct request_entry {
	uint64_t time_ns;
	size_t wire_bytes;
	size_t raw_bytes;
	/** hash64_bytes() of the decompressed bytes. */
	uint64_t hash;
	uint64_t resources;
	uint64_t profiles;
	uint64_t repeated_profiles;
	uint64_t samples;
	uint64_t broken_rules;
	bool is_taken;
	char answer[64];
};

/** A key, the kind of thing that has it, how often it occurs, and some of its values as text. */
struct attribute_use {
	const char *owner;
	char key[ATTRIBUTE_TEXT_BYTES];
	uint64_t count;
	uint32_t value_count;
	char (*values)[ATTRIBUTE_TEXT_BYTES];
};

VECTOR_DEFINE(request_entry_vector, struct request_entry)
VECTOR_DEFINE(attribute_use_vector, struct attribute_use)

/** Sums over samples. */
struct sample_sums {
	uint64_t profiles;
	uint64_t samples;
};

/** Owner: the server's thread. Initialize with zeros. */
struct received {
	struct findings findings;
	uint64_t requests;
	uint64_t wire_bytes;
	uint64_t raw_bytes;
	/**
	 * All samples; those without repeats; and those without repeats in requests that were
	 * taken.
	 */
	struct sample_sums all;
	struct sample_sums once;
	struct sample_sums taken;
	/** CLOCK_REALTIME of the first and the last sample; 0 without samples. */
	uint64_t first_time_ns;
	uint64_t last_time_ns;
	struct folded_stacks folded;
	/**
	 * Map a profile_id to the hash of its request; taken_ids has those in requests that were
	 * taken.
	 */
	struct hash_map profile_ids;
	struct hash_map taken_ids;
	struct request_entry_vector log;
	struct attribute_use_vector attributes;
	struct hash_map attribute_indices;
	/** Requests with metrics are counted here alone. */
	struct received_metrics metrics;
	/** Borrowed; NULL: none. */
	const struct location_names *names;
};

void received_deinit(struct received *received);

/** Checks and counts a request; also fills @findings and @entry. 0 or -ENOMEM. */
int received_add(struct received *received, const struct incoming *incoming,
		 struct findings *findings, struct request_entry *entry);

/** Counts a metadata entry of a call. 0 or -ENOMEM. */
int received_add_header(struct received *received, struct span key, struct span value);

/** Writes everything as one JSON object. */
void received_write_report(const struct received *received, FILE *out);

#endif
