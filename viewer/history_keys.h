/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What tells the samples of a history apart, once each, by number: a key. Keys count the samples that have them and
 * go with the last one; their numbers are used again. Keys do not move while they are there. Not thread-safe.
 */
#ifndef VIEWER_HISTORY_KEYS_H
#define VIEWER_HISTORY_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/hash_map.h"
#include "agent/base/sample.h"
#include "agent/base/vector.h"

/** As struct sample, without the CPU. All of it belongs to the keys. */
struct history_key {
	/** Equal ones are the same pointer. */
	struct trace *trace;
	/** NULL: none. Equal ones are the same pointer, too. */
	struct process_info *process;
	const char *process_comm;
	const char *thread_comm;
	const struct label_set *labels;
	uint32_t pid;
	uint32_t tid;
};

/** Empty for this one. */
static inline const char *history_key_host(const struct history_key *key)
{
	return key->process ? key->process->host_name : "";
}

/** Empty for none. */
static inline const char *history_key_container(const struct history_key *key)
{
	return key->process ? key->process->container_id : "";
}

enum {
	HISTORY_KEYS_PER_BLOCK = 512,
};

struct kept_key;

VECTOR_DEFINE(key_block_vector, struct kept_key *)

/** All zero is empty. */
struct history_keys {
	struct key_block_vector blocks;
	/** Numbers below have been used; of those that are free, the last one and 1. */
	uint32_t used;
	uint32_t free_number;
	/**
	 * By the hash of their identity (a number and 1), by the hashes of traces, by hash and pid, by the bytes of texts
	 * and labels.
	 */
	struct hash_map numbers;
	struct hash_map traces;
	struct hash_map processes;
	struct hash_map shared;
	/** Of the traces, by address: how many traces have it. */
	struct hash_map binaries;
	/** What all of it takes, nearly; also what others have, too. */
	size_t bytes;
};

void history_keys_deinit(struct history_keys *keys);

/** Counts one sample more of the key, which is made if need be (*is_new). -ENOMEM, -E2BIG. */
int history_keys_add(struct history_keys *keys, const struct sample *sample, uint32_t *number,
		     bool *is_new);

/** Counts one less. */
void history_keys_remove(struct history_keys *keys, uint32_t number);

/** NULL for one that is free. */
const struct history_key *history_keys_at(struct kept_key *const *blocks, uint32_t number);

#endif
