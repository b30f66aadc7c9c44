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

/* What processes are told apart by; their hash is of all their texts. */
struct process_key {
	uint64_t hash;
	uint64_t pid;
};

struct trace_key {
	struct hash128 hash;
	uint64_t executables_hash;
};

/* One of equal traces, processes, texts or sets of labels, and how many keys have it. */
struct shared_trace {
	struct trace *trace;
	uint32_t users;
};

struct shared_process {
	struct process_info *info;
	uint32_t users;
};

struct shared_bytes {
	uint32_t users;
	uint32_t count;
	uint64_t bytes[];
};

struct kept_key {
	struct history_key key;
	uint32_t samples;
	/* A number and 1, 0 for none: the next free one of a free one, else the next whose identity has the same hash. */
	uint32_t next;
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

static size_t binary_cost(const struct binary *binary)
{
	return binary_bytes(binary) + ENTRY_BYTES + 2 * BLOCK_OVERHEAD_BYTES;
}

static void unshare_binaries(struct history_keys *keys, const struct trace *trace, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct binary *binary = trace_binaries(trace)[i];
		uint64_t users = 0;

		hash_map_find(&keys->binaries, (uintptr_t)binary, &users);
		if (users > 1) {
			/* It is there: that takes no memory. */
			(void)hash_map_set(&keys->binaries, (uintptr_t)binary, users - 1);
			continue;
		}
		hash_map_remove(&keys->binaries, (uintptr_t)binary, NULL);
		keys->bytes -= binary_cost(binary);
	}
}

/* Counts those of a trace that is new; nothing of it if that fails. */
static int share_binaries(struct history_keys *keys, const struct trace *trace)
{
	for (uint32_t i = 0; i < trace->binary_count; i++) {
		const struct binary *binary = trace_binaries(trace)[i];
		uint64_t users = 0;
		bool is_known = hash_map_find(&keys->binaries, (uintptr_t)binary, &users);

		if (hash_map_set(&keys->binaries, (uintptr_t)binary, users + 1)) {
			unshare_binaries(keys, trace, i);
			return -ENOMEM;
		}
		if (!is_known)
			keys->bytes += binary_cost(binary);
	}
	return 0;
}

static size_t trace_cost(const struct trace *trace)
{
	return trace->bytes + sizeof(struct shared_trace) + sizeof(struct trace_key) + ENTRY_BYTES +
	       2 * BLOCK_OVERHEAD_BYTES;
}

static struct trace *share_trace(struct history_keys *keys, struct trace *trace)
{
	const struct trace_key identity = { trace->hash, trace->executables_hash };
	struct shared_trace *shared;
	uint64_t found;

	if (hash_map_find_bytes(&keys->traces, &identity, sizeof(identity), &found)) {
		shared = (struct shared_trace *)(uintptr_t)found;
	} else {
		shared = calloc(1, sizeof(*shared));
		if (!shared || share_binaries(keys, trace)) {
			free(shared);
			return NULL;
		}
		if (hash_map_set_bytes(&keys->traces, &identity, sizeof(identity),
				       (uintptr_t)shared)) {
			unshare_binaries(keys, trace, trace->binary_count);
			free(shared);
			return NULL;
		}
		shared->trace = trace_ref(trace);
		keys->bytes += trace_cost(trace);
	}
	shared->users++;
	return shared->trace;
}

static void unshare_trace(struct history_keys *keys, const struct trace *trace)
{
	const struct trace_key identity = { trace->hash, trace->executables_hash };
	struct shared_trace *shared;
	uint64_t found;

	if (!hash_map_find_bytes(&keys->traces, &identity, sizeof(identity), &found))
		return;
	shared = (struct shared_trace *)(uintptr_t)found;
	if (--shared->users)
		return;
	hash_map_remove_bytes(&keys->traces, &identity, sizeof(identity), NULL);
	keys->bytes -= trace_cost(shared->trace);
	unshare_binaries(keys, shared->trace, shared->trace->binary_count);
	trace_unref(shared->trace);
	free(shared);
}

static size_t process_cost(const struct process_info *info)
{
	return process_info_bytes(info) + sizeof(struct shared_process) +
	       sizeof(struct process_key) + ENTRY_BYTES + 3 * BLOCK_OVERHEAD_BYTES;
}

static struct process_info *share_process(struct history_keys *keys, struct process_info *info)
{
	const struct process_key key = { info->hash, info->pid };
	struct shared_process *shared;
	uint64_t found;

	if (hash_map_find_bytes(&keys->processes, &key, sizeof(key), &found)) {
		shared = (struct shared_process *)(uintptr_t)found;
	} else {
		shared = calloc(1, sizeof(*shared));
		if (!shared ||
		    hash_map_set_bytes(&keys->processes, &key, sizeof(key), (uintptr_t)shared)) {
			free(shared);
			return NULL;
		}
		shared->info = process_info_ref(info);
		keys->bytes += process_cost(info);
	}
	shared->users++;
	return shared->info;
}

static void unshare_process(struct history_keys *keys, const struct process_info *info)
{
	const struct process_key key = { info->hash, info->pid };
	struct shared_process *shared;
	uint64_t found;

	if (!hash_map_find_bytes(&keys->processes, &key, sizeof(key), &found))
		return;
	shared = (struct shared_process *)(uintptr_t)found;
	if (--shared->users)
		return;
	hash_map_remove_bytes(&keys->processes, &key, sizeof(key), NULL);
	keys->bytes -= process_cost(shared->info);
	process_info_unref(shared->info);
	free(shared);
}

/* @key borrows what it has. */
static struct key_identity identify(const struct history_key *key)
{
	struct key_identity identity = {
		.trace_hash = key->trace->hash,
		.executables_hash = key->trace->executables_hash,
		.process_comm_hash = hash64_bytes(key->process_comm, strlen(key->process_comm)),
		.thread_comm_hash = hash64_bytes(key->thread_comm, strlen(key->thread_comm)),
		.pid = key->pid,
		.tid = key->tid,
	};

	if (key->process)
		identity.process_hash = key->process->hash;
	if (key->labels)
		identity.labels_hash = hash64_bytes(key->labels, label_set_bytes(key->labels));
	return identity;
}

static void free_parts(struct history_keys *keys, struct kept_key *kept)
{
	if (kept->key.trace)
		unshare_trace(keys, kept->key.trace);
	if (kept->key.process)
		unshare_process(keys, kept->key.process);
	unshare(keys, kept->key.process_comm);
	unshare(keys, kept->key.thread_comm);
	unshare(keys, kept->key.labels);
	kept->key = (struct history_key){ 0 };
}

/* --- keys --- */

/* A zeroed one; its number. */
static int take_number(struct history_keys *keys, uint32_t *number)
{
	struct kept_key *block;
	int err;

	if (keys->free_number) {
		*number = keys->free_number - 1;
		keys->free_number = key_at(keys->blocks.items, *number)->next;
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
	key_at(keys->blocks.items, number)->next = keys->free_number;
	keys->free_number = number + 1;
}

/* @wanted borrows what it has. */
static int fill(struct history_keys *keys, struct kept_key *kept, const struct history_key *wanted)
{
	struct history_key *key = &kept->key;

	kept->samples = 0;
	key->pid = wanted->pid;
	key->tid = wanted->tid;
	if (wanted->process)
		key->process = share_process(keys, wanted->process);
	key->process_comm = share(keys, wanted->process_comm, strlen(wanted->process_comm) + 1);
	key->thread_comm = share(keys, wanted->thread_comm, strlen(wanted->thread_comm) + 1);
	if (wanted->labels)
		key->labels = share(keys, wanted->labels, label_set_bytes(wanted->labels));
	key->trace = share_trace(keys, wanted->trace);
	return key->trace && key->process_comm && key->thread_comm &&
			       (key->labels || !wanted->labels) &&
			       (key->process || !wanted->process) ?
		       0 :
		       -ENOMEM;
}

static int make_key(struct history_keys *keys, const struct history_key *wanted, uint64_t hash,
		    uint64_t next, uint32_t *number)
{
	struct kept_key *kept;
	int err = take_number(keys, number);

	if (err)
		return err;
	kept = key_at(keys->blocks.items, *number);
	err = fill(keys, kept, wanted);
	if (!err)
		err = hash_map_set(&keys->numbers, hash, (uint64_t)*number + 1);
	if (err) {
		free_parts(keys, kept);
		give_number_back(keys, *number);
		return err;
	}
	kept->next = (uint32_t)next;
	keys->bytes += ENTRY_BYTES;
	return 0;
}

int history_keys_add(struct history_keys *keys, const struct sample *sample, uint32_t *number,
		     bool *is_new)
{
	const struct history_key wanted = {
		.trace = sample->trace,
		.process = sample->process,
		.process_comm = sample->process_comm,
		.thread_comm = sample->thread_comm,
		.labels = sample->labels,
		.pid = sample->pid,
		.tid = sample->tid,
	};
	struct key_identity identity = identify(&wanted), other;
	uint64_t hash = hash64_bytes(&identity, sizeof(identity)), first = 0, each;
	int err = 0;

	hash_map_find(&keys->numbers, hash, &first);
	for (each = first; each; each = key_at(keys->blocks.items, (uint32_t)each - 1)->next) {
		other = identify(&key_at(keys->blocks.items, (uint32_t)each - 1)->key);
		if (!memcmp(&other, &identity, sizeof(identity)))
			break;
	}
	*is_new = !each;
	if (*is_new)
		err = make_key(keys, &wanted, hash, first, number);
	else
		*number = (uint32_t)each - 1;
	if (!err)
		key_at(keys->blocks.items, *number)->samples++;
	return err;
}

/* Takes the key out of those with its hash. */
static void unlink_key(struct history_keys *keys, struct kept_key *kept, uint32_t number)
{
	const struct key_identity identity = identify(&kept->key);
	uint64_t hash = hash64_bytes(&identity, sizeof(identity)), each = 0;

	hash_map_find(&keys->numbers, hash, &each);
	if (each != (uint64_t)number + 1) {
		struct kept_key *before = key_at(keys->blocks.items, (uint32_t)each - 1);

		while (before->next != number + 1)
			before = key_at(keys->blocks.items, before->next - 1);
		before->next = kept->next;
	} else if (kept->next) {
		/* The entry is there: that takes no memory. */
		(void)hash_map_set(&keys->numbers, hash, kept->next);
	} else {
		hash_map_remove(&keys->numbers, hash, NULL);
	}
}

void history_keys_remove(struct history_keys *keys, uint32_t number)
{
	struct kept_key *kept = key_at(keys->blocks.items, number);

	if (--kept->samples)
		return;
	unlink_key(keys, kept, number);
	keys->bytes -= ENTRY_BYTES;
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
	hash_map_deinit(&keys->processes);
	hash_map_deinit(&keys->shared);
	hash_map_deinit(&keys->binaries);
	*keys = (struct history_keys){ 0 };
}
