/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/history_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/hash128.h"

enum {
	/* What a map's entry takes beside the key's bytes, and malloc beside a block's. */
	ENTRY_BYTES = 48,
	BLOCK_OVERHEAD_BYTES = 16,
};

/* No padding. The hashes of texts are seeded, so that nobody can choose equal ones. */
struct key_identity {
	struct hash128 trace_hash;
	uint64_t executables_hash;
	uint64_t process_hash;
	uint64_t process_comm_hash;
	uint64_t thread_comm_hash;
	uint64_t labels_hash;
	uint32_t pid;
	uint32_t tid;
};

_Static_assert(sizeof(struct key_identity) == 64, "struct key_identity has no padding");

enum {
	TRACE_KEY_BYTES = offsetof(struct key_identity, process_hash),
	KEY_BYTES = sizeof(struct key_identity) + ENTRY_BYTES,
};

/* One of equal traces, texts or sets of labels, and how many keys have it. */
struct shared_trace {
	struct trace *trace;
	uint32_t users;
};

struct shared_bytes {
	uint32_t users;
	uint32_t count;
	uint64_t bytes[];
};

struct kept_key {
	struct history_key key;
	struct key_identity identity;
	uint32_t samples;
	/* Of a free one: the next free number and 1. */
	uint32_t next_free;
};

static struct kept_key *key_at(struct kept_key *const *blocks, uint32_t number)
{
	return &blocks[number / HISTORY_KEYS_PER_BLOCK][number % HISTORY_KEYS_PER_BLOCK];
}

const struct history_key *history_keys_at(struct kept_key *const *blocks, uint32_t number)
{
	const struct kept_key *kept = key_at(blocks, number);

	return kept->key.trace ? &kept->key : NULL;
}

/* --- shared parts --- */

static struct shared_bytes *find_shared(const struct history_keys *keys, const void *bytes,
					size_t count)
{
	uint64_t found;

	return hash_map_find_bytes(&keys->shared, bytes, count, &found) ?
		       (struct shared_bytes *)(uintptr_t)found :
		       NULL;
}

/* The copy of @bytes that all share, with one more user; NULL without memory. */
static void *share(struct history_keys *keys, const void *bytes, size_t count)
{
	struct shared_bytes *shared = find_shared(keys, bytes, count);

	if (!shared) {
		shared = calloc(1, sizeof(*shared) + count);
		if (!shared)
			return NULL;
		memcpy(shared->bytes, bytes, count);
		shared->count = (uint32_t)count;
		if (hash_map_set_bytes(&keys->shared, bytes, count, (uintptr_t)shared)) {
			free(shared);
			return NULL;
		}
		keys->bytes += sizeof(*shared) + 2 * count + ENTRY_BYTES;
	}
	shared->users++;
	return shared->bytes;
}

static void unshare(struct history_keys *keys, const void *bytes)
{
	struct shared_bytes *shared;

	if (!bytes)
		return;
	shared = (struct shared_bytes *)((char *)bytes - offsetof(struct shared_bytes, bytes));
	if (--shared->users)
		return;
	hash_map_remove_bytes(&keys->shared, shared->bytes, shared->count, NULL);
	keys->bytes -= sizeof(*shared) + 2 * (size_t)shared->count + ENTRY_BYTES;
	free(shared);
}

static size_t trace_cost(const struct trace *trace)
{
	return trace->bytes + sizeof(struct shared_trace) + TRACE_KEY_BYTES + ENTRY_BYTES +
	       2 * BLOCK_OVERHEAD_BYTES;
}

static struct trace *share_trace(struct history_keys *keys, struct trace *trace,
				 const struct key_identity *identity)
{
	struct shared_trace *shared;
	uint64_t found;

	if (hash_map_find_bytes(&keys->traces, identity, TRACE_KEY_BYTES, &found)) {
		shared = (struct shared_trace *)(uintptr_t)found;
	} else {
		shared = calloc(1, sizeof(*shared));
		if (!shared || hash_map_set_bytes(&keys->traces, identity, TRACE_KEY_BYTES,
						  (uintptr_t)shared)) {
			free(shared);
			return NULL;
		}
		shared->trace = trace_ref(trace);
		keys->bytes += trace_cost(trace);
	}
	shared->users++;
	return shared->trace;
}

static void unshare_trace(struct history_keys *keys, const struct key_identity *identity)
{
	struct shared_trace *shared;
	uint64_t found;

	if (!hash_map_find_bytes(&keys->traces, identity, TRACE_KEY_BYTES, &found))
		return;
	shared = (struct shared_trace *)(uintptr_t)found;
	if (--shared->users)
		return;
	hash_map_remove_bytes(&keys->traces, identity, TRACE_KEY_BYTES, NULL);
	keys->bytes -= trace_cost(shared->trace);
	trace_unref(shared->trace);
	free(shared);
}

static void free_parts(struct history_keys *keys, struct kept_key *kept)
{
	if (kept->key.trace)
		unshare_trace(keys, &kept->identity);
	process_info_unref(kept->key.process);
	unshare(keys, kept->key.process_comm);
	unshare(keys, kept->key.thread_comm);
	unshare(keys, kept->key.labels);
	kept->key = (struct history_key){ 0 };
}

/* --- keys --- */

static struct key_identity identify(const struct trace *trace, const struct sample_context *context)
{
	struct key_identity identity = {
		.trace_hash = trace->hash,
		.executables_hash = trace->executables_hash,
		.process_comm_hash =
			hash64_bytes(context->process_comm, strlen(context->process_comm)),
		.thread_comm_hash =
			hash64_bytes(context->thread_comm, strlen(context->thread_comm)),
		.pid = context->pid,
		.tid = context->tid,
	};

	if (context->process)
		identity.process_hash = context->process->hash;
	if (context->labels)
		identity.labels_hash =
			hash64_bytes(context->labels, label_set_bytes(context->labels));
	return identity;
}

/* A zeroed one; its number. */
static int take_number(struct history_keys *keys, uint32_t *number)
{
	struct kept_key *block;
	int err;

	if (keys->free_number) {
		*number = keys->free_number - 1;
		keys->free_number = key_at(keys->blocks.items, *number)->next_free;
		return 0;
	}
	if (keys->used == UINT32_MAX - HISTORY_KEYS_PER_BLOCK)
		return -E2BIG;
	if (keys->used == keys->blocks.count * HISTORY_KEYS_PER_BLOCK) {
		block = calloc(HISTORY_KEYS_PER_BLOCK, sizeof(*block));
		err = block ? key_block_vector_push(&keys->blocks, block) : -ENOMEM;
		if (err) {
			free(block);
			return err;
		}
		keys->bytes += HISTORY_KEYS_PER_BLOCK * sizeof(*block);
	}
	*number = keys->used++;
	return 0;
}

static void give_number_back(struct history_keys *keys, uint32_t number)
{
	key_at(keys->blocks.items, number)->next_free = keys->free_number;
	keys->free_number = number + 1;
}

static int fill(struct history_keys *keys, struct kept_key *kept, struct trace *trace,
		const struct sample_context *context, const struct key_identity *identity)
{
	struct history_key *key = &kept->key;

	kept->identity = *identity;
	kept->samples = 0;
	key->pid = context->pid;
	key->tid = context->tid;
	key->process = context->process ? process_info_ref(context->process) : NULL;
	key->process_comm = share(keys, context->process_comm, strlen(context->process_comm) + 1);
	key->thread_comm = share(keys, context->thread_comm, strlen(context->thread_comm) + 1);
	if (context->labels)
		key->labels = share(keys, context->labels, label_set_bytes(context->labels));
	key->trace = share_trace(keys, trace, identity);
	return key->trace && key->process_comm && key->thread_comm &&
			       (key->labels || !context->labels) ?
		       0 :
		       -ENOMEM;
}

static int make_key(struct history_keys *keys, struct trace *trace,
		    const struct sample_context *context, const struct key_identity *identity,
		    uint32_t *number)
{
	struct kept_key *kept;
	int err = take_number(keys, number);

	if (err)
		return err;
	kept = key_at(keys->blocks.items, *number);
	err = fill(keys, kept, trace, context, identity);
	if (!err)
		err = hash_map_set_bytes(&keys->numbers, identity, sizeof(*identity), *number);
	if (err) {
		free_parts(keys, kept);
		give_number_back(keys, *number);
		return err;
	}
	keys->bytes += KEY_BYTES;
	return 0;
}

int history_keys_add(struct history_keys *keys, struct trace *trace,
		     const struct sample_context *context, uint32_t *number, bool *is_new)
{
	struct key_identity identity = identify(trace, context);
	uint64_t found;
	int err = 0;

	*is_new = !hash_map_find_bytes(&keys->numbers, &identity, sizeof(identity), &found);
	if (*is_new)
		err = make_key(keys, trace, context, &identity, number);
	else
		*number = (uint32_t)found;
	if (!err)
		key_at(keys->blocks.items, *number)->samples++;
	return err;
}

void history_keys_remove(struct history_keys *keys, uint32_t number)
{
	struct kept_key *kept = key_at(keys->blocks.items, number);

	if (--kept->samples)
		return;
	hash_map_remove_bytes(&keys->numbers, &kept->identity, sizeof(kept->identity), NULL);
	keys->bytes -= KEY_BYTES;
	free_parts(keys, kept);
	give_number_back(keys, number);
}

void history_keys_deinit(struct history_keys *keys)
{
	for (uint32_t i = 0; i < keys->used; i++)
		free_parts(keys, key_at(keys->blocks.items, i));
	for (size_t i = 0; i < keys->blocks.count; i++)
		free(keys->blocks.items[i]);
	key_block_vector_deinit(&keys->blocks);
	hash_map_deinit(&keys->numbers);
	hash_map_deinit(&keys->traces);
	hash_map_deinit(&keys->shared);
	*keys = (struct history_keys){ 0 };
}
