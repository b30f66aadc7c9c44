/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executables by key and by slot. The parsers have checked the content of files; here only the numbers of slots
 * and unused records are limited.
 */
#include "agent/processes/executable_cache.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/processes/executable_rows.h"
#include "agent/processes/runtimes/executable_runtime.h"
#include "agent/runtimes/elf_home.h"
#include "agent/runtimes/executable_file.h"
#include "ebpf/abi/frame.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/hash128.h"
#include "lib/base/urgent_thread.h"
#include "lib/host/binary_file.h"
#include "lib/host/remote_memory.h"
#include "lib/model/metrics.h"

enum { VDSO_MAX_BYTES = 64 << 10 };

/* Limit of files that are closed at a time, after no process runs them any more. */
enum { CLOSED_AT_ONCE = 64 };
#define CLOSE_PAUSE_NS (50 * NS_PER_MS)

/* No file has this device, so keys of images and files never collide. */
#define IMAGE_DEVICE UINT64_MAX

/*
 * A file that changed within this time may change again without a new ctime, whose resolution is a clock tick.
 * Its record is not shared with later mappings.
 */
#define SETTLED_NS (100 * NS_PER_MS)

/* Rows in memory that no unwind has used for this time are dropped. */
#define CACHED_ROWS_AGE_NS (60 * NS_PER_SECOND)

static void ask_nobody(void *context, uint64_t executable_id, bool is_remote)
{
	(void)context;
	(void)executable_id;
	(void)is_remote;
}

static void hurry_nobody(void *context, uint64_t executable_id)
{
	(void)context;
	(void)executable_id;
}

static void tell_nobody(void *context)
{
	(void)context;
}

int executable_cache_create(const struct executable_cache_config *config,
			    struct executable_cache **cache)
{
	struct executable_cache *new_cache = calloc(1, sizeof(*new_cache));

	if (!new_cache)
		return fail(-ENOMEM, "no memory for the executables");
	new_cache->slots = calloc(EXECUTABLE_SLOT_COUNT, sizeof(*new_cache->slots));
	if (!new_cache->slots) {
		free(new_cache);
		return fail(-ENOMEM, "no memory for the executables");
	}
	new_cache->config = *config;
	if (!config->request_load)
		new_cache->config.request_load = ask_nobody;
	if (!config->hurry)
		new_cache->config.hurry = hurry_nobody;
	if (!config->loaded)
		new_cache->config.loaded = tell_nobody;
	new_cache->next_close_ns = UINT64_MAX;
	urgent_lock_init(&new_cache->lock);
	executable_rows_init(new_cache);
	*cache = new_cache;
	return 0;
}

static void executable_free(struct executable *executable)
{
	executable_runtime_release(executable->runtime_file);
	free(executable->refusal);
	/* Traces may refer to the binary for long. */
	if (executable->binary)
		binary_file_let_go(executable->binary);
	binary_unref(executable->binary);
	elf_image_deinit(&executable->segments);
	free(executable);
}

void executable_cache_destroy(struct executable_cache *cache)
{
	if (!cache)
		return;
	assert(cache->unused_count == cache->count);
	while (cache->oldest_unused) {
		struct executable *executable = cache->oldest_unused;

		cache->oldest_unused = executable->newer_unused;
		executable_free(executable);
	}
	executable_rows_deinit(cache);
	hash_map_deinit(&cache->by_key);
	slot_vector_deinit(&cache->free_slots);
	free(cache->slots);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

struct executable *executable_cache_by_id(const struct executable_cache *cache,
					  uint64_t executable_id)
{
	struct executable *executable;

	if (executable_id < EXECUTABLE_ID_FIRST)
		return NULL;
	executable = cache->slots[executable_id & (EXECUTABLE_SLOT_COUNT - 1)];
	return executable && executable->id == executable_id ? executable : NULL;
}

static void unlink_unused(struct executable_cache *cache, struct executable *executable)
{
	if (executable->older_unused)
		executable->older_unused->newer_unused = executable->newer_unused;
	else
		cache->oldest_unused = executable->newer_unused;
	if (executable->newer_unused)
		executable->newer_unused->older_unused = executable->older_unused;
	else
		cache->newest_unused = executable->older_unused;
	executable->older_unused = NULL;
	executable->newer_unused = NULL;
	cache->unused_count--;
}

static struct executable *ref_locked(struct executable_cache *cache, struct executable *executable)
{
	if (!executable->references++)
		unlink_unused(cache, executable);
	return executable;
}

struct executable *executable_ref(struct executable_cache *cache, struct executable *executable)
{
	pthread_mutex_lock(&cache->lock);
	ref_locked(cache, executable);
	pthread_mutex_unlock(&cache->lock);
	return executable;
}

void executable_unref(struct executable_cache *cache, struct executable *executable)
{
	if (!executable)
		return;
	pthread_mutex_lock(&cache->lock);
	if (--executable->references == 0) {
		executable->unused_since_ns = clock_monotonic_ns();
		executable->older_unused = cache->newest_unused;
		if (cache->newest_unused)
			cache->newest_unused->newer_unused = executable;
		else
			cache->oldest_unused = executable;
		cache->newest_unused = executable;
		cache->unused_count++;
	}
	pthread_mutex_unlock(&cache->lock);
}

static void note_left_locked(struct executable_cache *cache, struct executable *executable,
			     uint64_t now_ns)
{
	uint64_t close_ns = now_ns + EXECUTABLE_OPEN_NS;

	executable->left_ns = now_ns;
	if (close_ns < cache->next_close_ns)
		__atomic_store_n(&cache->next_close_ns, close_ns, __ATOMIC_RELAXED);
}

void executable_note_run(struct executable_cache *cache, struct executable *executable)
{
	pthread_mutex_lock(&cache->lock);
	executable->runner_count++;
	pthread_mutex_unlock(&cache->lock);
}

void executable_note_left(struct executable_cache *cache, struct executable *executable,
			  uint64_t now_ns)
{
	pthread_mutex_lock(&cache->lock);
	if (!--executable->runner_count)
		note_left_locked(cache, executable, now_ns);
	pthread_mutex_unlock(&cache->lock);
}

bool executable_lacks_file(const struct executable *executable)
{
	return executable->binary && binary_file_is_let_go(executable->binary);
}

uint64_t executable_cache_next_close(const struct executable_cache *cache)
{
	return __atomic_load_n(&cache->next_close_ns, __ATOMIC_RELAXED);
}

void executable_cache_close_files(struct executable_cache *cache, uint64_t now_ns)
{
	struct binary *left[CLOSED_AT_ONCE];
	uint64_t next_ns = UINT64_MAX;
	uint32_t count = 0;

	if (now_ns < executable_cache_next_close(cache))
		return;
	pthread_mutex_lock(&cache->lock);
	for (uint32_t i = 0; i < cache->used_slots; i++) {
		struct executable *executable = cache->slots[i];

		if (!executable || executable->runner_count || !executable->left_ns)
			continue;
		if (now_ns >= executable->left_ns + EXECUTABLE_OPEN_NS && count < CLOSED_AT_ONCE) {
			left[count++] = binary_ref(executable->binary);
			executable->left_ns = 0;
		} else if (executable->left_ns + EXECUTABLE_OPEN_NS < next_ns) {
			next_ns = executable->left_ns + EXECUTABLE_OPEN_NS;
		}
	}
	if (next_ns < now_ns + CLOSE_PAUSE_NS)
		next_ns = now_ns + CLOSE_PAUSE_NS;
	__atomic_store_n(&cache->next_close_ns, next_ns, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&cache->lock);
	for (uint32_t i = 0; i < count; i++) {
		binary_file_let_go(left[i]);
		binary_unref(left[i]);
	}
}

int executable_mapping_bias(const struct executable *executable, uint64_t start, uint64_t end,
			    uint64_t offset, uint64_t *bias)
{
	uint64_t address;
	int err;

	/* For a file with damaged headers, offsets are used as addresses. */
	if (!executable->segments.segment_count) {
		*bias = start - offset;
		return 0;
	}
	err = elf_image_mapping_address(&executable->segments, offset, end - start, &address);
	if (!err)
		*bias = start - address;
	return err;
}

static struct executable *find_locked(struct executable_cache *cache, const struct file_key *key)
{
	uint64_t value;

	if (!hash_map_find_bytes(&cache->by_key, key, sizeof(*key), &value))
		return NULL;
	return ref_locked(cache, (void *)(uintptr_t)value);
}

struct executable *executable_cache_find(struct executable_cache *cache, const struct file_key *key)
{
	struct executable *executable;
	bool was_resting;

	pthread_mutex_lock(&cache->lock);
	executable = find_locked(cache, key);
	was_resting = executable && executable->is_resting && !executable_lacks_file(executable);
	if (was_resting)
		executable->is_resting = false;
	pthread_mutex_unlock(&cache->lock);
	if (was_resting)
		executable_rows_bring_back(cache, executable->id);
	return executable;
}

/* Sets the id and *@slot; -ENOSPC when all slots are in use. */
static int reserve_id_locked(struct executable_cache *cache, uint64_t *id, uint32_t *slot)
{
	if (cache->free_slots.count)
		*slot = cache->free_slots.items[--cache->free_slots.count];
	else if (cache->used_slots < EXECUTABLE_SLOT_COUNT)
		*slot = cache->used_slots++;
	else
		return fail(-ENOSPC, "more than %d executables", EXECUTABLE_SLOT_COUNT);
	*id = ++cache->last_generation << EXECUTABLE_SLOT_BITS | *slot;
	return 0;
}

/* Assigns a slot and the id; -ENOSPC when all slots are in use. */
static int take_slot(struct executable_cache *cache, struct executable *executable)
{
	uint32_t slot = 0;
	int err = reserve_id_locked(cache, &executable->id, &slot);

	if (!err)
		cache->slots[slot] = executable;
	return err;
}

int executable_cache_reserve_id(struct executable_cache *cache, uint64_t flag, uint64_t *id)
{
	uint32_t slot = 0;
	int err;

	pthread_mutex_lock(&cache->lock);
	err = reserve_id_locked(cache, id, &slot);
	pthread_mutex_unlock(&cache->lock);
	if (!err)
		*id |= flag;
	return err;
}

void executable_cache_release_id(struct executable_cache *cache, uint64_t id)
{
	pthread_mutex_lock(&cache->lock);
	/* Without memory the slot, one of 65,536, is not reused. */
	slot_vector_push(&cache->free_slots, id & (EXECUTABLE_SLOT_COUNT - 1));
	pthread_mutex_unlock(&cache->lock);
}

/*
 * Adds @executable and returns it. If another thread was faster, returns that thread's. NULL if there is no
 * free slot.
 */
static struct executable *insert(struct executable_cache *cache, struct executable *executable,
				 const struct binary *values)
{
	bool is_shared = executable->key.ctime_ns + (int64_t)SETTLED_NS <
			 (int64_t)clock_realtime_ns();
	struct executable *present;
	struct binary with_id;

	pthread_mutex_lock(&cache->lock);
	present = is_shared ? find_locked(cache, &executable->key) : NULL;
	if (present)
		goto unlock;
	if (is_shared && hash_map_set_bytes(&cache->by_key, &executable->key,
					    sizeof(executable->key), (uintptr_t)executable))
		goto unlock;
	executable->is_in_keys = is_shared;
	if (values) {
		if (take_slot(cache, executable))
			goto remove_key;
		with_id = *values;
		with_id.executable_id = executable->id;
		executable->binary = binary_create(&with_id);
		if (!executable->binary)
			goto free_slot;
		executable->is_load_requested = true;
		cache->loading_count++;
	}
	cache->count++;
	metrics_set(METRIC_EXECUTABLES, cache->count);
	note_left_locked(cache, executable, clock_monotonic_ns());
	present = executable;
	goto unlock;

free_slot:
	/* The slot came from this list; without memory for the list it stays unused. */
	cache->slots[executable->id & (EXECUTABLE_SLOT_COUNT - 1)] = NULL;
	slot_vector_push(&cache->free_slots, executable->id & (EXECUTABLE_SLOT_COUNT - 1));
remove_key:
	if (is_shared)
		hash_map_remove_bytes(&cache->by_key, &executable->key, sizeof(executable->key),
				      NULL);
unlock:
	pthread_mutex_unlock(&cache->lock);
	return present;
}

/* Takes over the file, which is about to be run again. Its unloaded rows are loaded again. */
static void give_file(struct executable_cache *cache, struct executable *executable, int fd,
		      struct held_file *held)
{
	bool was_resting;

	if (!executable->binary) {
		close_fd(&fd);
		held_file_unref(held);
		return;
	}
	binary_file_take(executable->binary, fd, held);
	pthread_mutex_lock(&cache->lock);
	was_resting = executable->is_resting;
	executable->is_resting = false;
	/* The last load may have failed because the file was closed. */
	executable->retry_ns = 0;
	if (!executable->runner_count)
		note_left_locked(cache, executable, clock_monotonic_ns());
	pthread_mutex_unlock(&cache->lock);
	if (was_resting)
		executable_rows_bring_back(cache, executable->id);
}

static int identify(const struct executable_cache *cache, int fd, struct held_file *held,
		    struct binary *binary, struct program_facts *facts, struct elf_image *segments)
{
	struct elf_home *parser = cache->config.parser;
	_cleanup_(close_fd) int copy = -1;
	int err = held ? held->ops->copy(held, &copy) : 0;

	if (err)
		return err;
	fd = held ? copy : fd;
	return parser ? parser->ops->identify(parser, fd, binary, facts, segments) :
			executable_file_identify(fd, binary, facts, segments);
}

int executable_cache_open(struct executable_cache *cache, int fd, const struct file_key *key,
			  pid_t pid, const char *path, struct held_file *held,
			  struct executable **executable)
{
	struct binary values = { .fd = -1 };
	struct executable *created, *inserted;
	struct program_facts facts;
	int err;

	created = executable_cache_find(cache, key);
	if (created) {
		give_file(cache, created, fd, held);
		*executable = created;
		return 0;
	}
	created = calloc(1, sizeof(*created));
	if (!created)
		return fail(-ENOMEM, "no memory for an executable");
	created->key = *key;
	created->references = 1;
	created->pid = pid;
	created->is_remote = held;
	err = identify(cache, fd, held, &values, &facts, &created->segments);
	if (err == -EBADMSG || err == -E2BIG) {
		executable_log_damaged(path, err);
		values = (struct binary){ .fd = -1 };
	} else if (err && err != -EOPNOTSUPP) {
		free(created);
		return err;
	}
	if (err == -EOPNOTSUPP) {
		created->id = EXECUTABLE_ID_ANONYMOUS;
		created->state = EXECUTABLE_UNLOADED;
		created->retry_ns = UINT64_MAX;
		inserted = insert(cache, created, NULL);
	} else {
		values.fd = fd;
		values.held = held;
		/* An image in memory cannot be found again. */
		if (key->device != IMAGE_DEVICE)
			values.key = *key;
		values.path = (char *)path;
		values.may_hang = held;
		inserted = insert(cache, created, &values);
	}
	if (inserted != created)
		executable_free(created);
	if (!inserted)
		return fail(-ENOSPC, "no room for another executable");
	/* If a binary was made, it owns the file. */
	if (inserted != created || !created->binary)
		give_file(cache, inserted, fd, held);
	else
		cache->config.request_load(cache->config.context, created->id, held);
	*executable = inserted;
	return 0;
}

int executable_cache_open_image(struct executable_cache *cache, const void *bytes, size_t size,
				const char *path, struct executable **executable)
{
	struct hash128 hash = hash128_content(bytes, size);
	const struct file_key key = {
		.device = IMAGE_DEVICE,
		.inode = hash.high,
		.size = size,
		.mtime_ns = (int64_t)hash.low,
	};
	struct executable *found = executable_cache_find(cache, &key);
	int fd, err;

	if (found) {
		*executable = found;
		return 0;
	}
	err = executable_file_from_memory(path, bytes, size, &fd);
	if (err)
		return err;
	err = executable_cache_open(cache, fd, &key, 0, path, NULL, executable);
	if (err)
		close(fd);
	return err;
}

int executable_cache_open_vdso(struct executable_cache *cache, struct remote_memory *memory,
			       uint64_t start, uint64_t end, const char *path,
			       struct executable **executable)
{
	size_t size = end - start;
	_cleanup_(free_pointer) void *image = NULL;
	int err;

	if (size > VDSO_MAX_BYTES)
		return fail(-E2BIG, "vDSO of %zu bytes", size);
	image = malloc(size);
	if (!image)
		return fail(-ENOMEM, "no memory for the vDSO");
	err = remote_memory_read(memory, start, image, size);
	/* The image is identified by its bytes, so a process that changed its vDSO gets a record of its own. */
	return err ? err : executable_cache_open_image(cache, image, size, path, executable);
}

struct binary *executable_cache_binary(struct executable_cache *cache, uint64_t executable_id)
{
	struct executable *executable;
	struct binary *binary = NULL;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	if (executable)
		binary = binary_ref(executable->binary);
	pthread_mutex_unlock(&cache->lock);
	return binary;
}

static void remove_record(struct executable_cache *cache, struct executable *executable)
{
	uint32_t slot = executable->id & (EXECUTABLE_SLOT_COUNT - 1);

	unlink_unused(cache, executable);
	if (executable->is_in_keys)
		hash_map_remove_bytes(&cache->by_key, &executable->key, sizeof(executable->key),
				      NULL);
	if (executable->id >= EXECUTABLE_ID_FIRST) {
		executable_rows_forget(cache, executable);
		cache->slots[slot] = NULL;
		/* Without memory the slot, one of 65,536, is not reused. */
		slot_vector_push(&cache->free_slots, slot);
	}
	cache->count--;
	metrics_set(METRIC_EXECUTABLES, cache->count);
	executable_free(executable);
}

void executable_cache_trim(struct executable_cache *cache, uint32_t max_unused)
{
	pthread_mutex_lock(&cache->lock);
	while (cache->unused_count > max_unused)
		remove_record(cache, cache->oldest_unused);
	pthread_mutex_unlock(&cache->lock);
}

/*
 * Whether the binary has references other than the record's (with the lock held none can be added), and the
 * record can be found again.
 */
static bool is_in_traces(const struct executable *executable)
{
	return executable->binary && executable->is_in_keys &&
	       __atomic_load_n(&executable->binary->references, __ATOMIC_ACQUIRE) > 1;
}

void executable_cache_expire(struct executable_cache *cache, uint64_t now_ns)
{
	struct executable *next;

	pthread_mutex_lock(&cache->lock);
	if (now_ns >= cache->next_age_ns) {
		lru_cache_age(&cache->cached_rows);
		cache->next_age_ns = now_ns + CACHED_ROWS_AGE_NS;
	}
	for (struct executable *executable = cache->oldest_unused;
	     executable && now_ns > executable->unused_since_ns + EXECUTABLE_KEEP_NS;
	     executable = next) {
		next = executable->newer_unused;
		if (!is_in_traces(executable))
			remove_record(cache, executable);
		else
			executable_rows_rest(cache, executable);
	}
	pthread_mutex_unlock(&cache->lock);
	executable_cache_trim(cache, EXECUTABLE_MAX_UNUSED);
}
