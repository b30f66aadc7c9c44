/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading, publishing, evicting and keeping unwind rows. The parsers have checked the content of files.
 */
#include "agent/processes/executable_rows.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/processes/load_queue.h"
#include "agent/processes/local_devices.h"
#include "agent/processes/runtimes/executable_runtime.h"
#include "agent/runtimes/elf_home.h"
#include "agent/runtimes/executable_file.h"
#include "ebpf/abi/frame.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/host/binary_file.h"
#include "lib/model/metrics.h"
#include "stackdeltas/delta_cache.h"

enum {
	/** Limits of rows kept in memory for unwinding deferred samples (cache_rows). */
	CACHED_ROWS_MAX_BYTES = 8 << 20,
	CACHED_ROWS_MAX_COUNT = 4096,
	/** One eviction frees at least this fraction of the budget (one in EVICT_SHARE). */
	EVICT_SHARE = 16,
	/** Number of samples in code that was left out, after which the code is analysed. */
	LACK_MAX_COUNT = 64,
	/** A load is quick if it takes no longer than this many bytes of .eh_frame, some 10 ms. */
	QUICK_WORK_BYTES = 3 << 20,
	/**
	 * Of files that nobody sampled so much is done in a second, and at most so much at once (some 20 ms). A large program that starts
	 * maps some hundred libraries, and runs code of a few.
	 */
	SPARE_BYTES_PER_SECOND = 256 << 10,
	SPARE_MAX_BYTES = 512 << 10,
	/** Added for each file, whatever its size. */
	FILE_WORK_BYTES = 16 << 10,
	/**
	 * Bytes of code without tables that are analysed at once; more is analysed only when it was sampled
	 * often, since most programs that start are never sampled again.
	 */
	PROMPT_CODE_BYTES = 2 << 20,
	/** Bytes of .eh_frame per entry of its search table, and the size of such an entry. */
	FDE_BYTES = 40,
	FDE_ENTRY_BYTES = 8,
};

/** Pause before another try to make rows after a lack of memory or the like. */
#define RETRY_NS (10 * NS_PER_SECOND)

/** Pause before rows that were put off are made for a process all the same, if there is time by then. */
#define PUT_OFF_NS (10 * NS_PER_SECOND)

/** Pause before rows are requested again whose file was closed because nobody ran it. */
#define STALE_RETRY_NS (100 * NS_PER_MS)

/**
 * Minimum time before evicted rows are loaded again. Otherwise rows would evict each other in turn where the
 * memory is too small.
 */
#define COME_BACK_NS NS_PER_SECOND

/* The cache has one reference, unwinds have the others. Under the cache's lock. */
struct cached_rows {
	uint32_t references;
	struct stack_deltas deltas;
};

static void unref_cached(struct cached_rows *cached)
{
	if (--cached->references)
		return;
	stack_deltas_deinit(&cached->deltas);
	free(cached);
}

static void release_cached(void *context, const void *key, void *value)
{
	(void)context;
	(void)key;
	unref_cached(value);
}

void executable_rows_init(struct executable_cache *cache)
{
	lru_cache_init(&cache->cached_rows, sizeof(uint64_t), CACHED_ROWS_MAX_COUNT,
		       CACHED_ROWS_MAX_BYTES, release_cached, NULL);
	cache->spare_bytes = SPARE_MAX_BYTES;
	cache->spare_ns = clock_monotonic_ns() + cache->config.starting_ns;
}

void executable_rows_deinit(struct executable_cache *cache)
{
	for (size_t i = 0; i < cache->loaded.count; i++)
		stack_deltas_deinit(&cache->loaded.items[i].deltas);
	loaded_vector_deinit(&cache->loaded);
	lru_cache_deinit(&cache->cached_rows);
}

void executable_log_damaged(const char *path, int err)
{
	static struct log_limit limit = { .interval_ns = NS_PER_SECOND, .burst = 20 };
	uint64_t suppressed;

	if (log_limit_allow(&limit, clock_monotonic_ns(), &suppressed))
		log_warn("%s: %s (%s); its stacks will be cut", path, error_text(), strerror(-err));
}

enum load_reason {
	/** A process runs the file (again). */
	LOAD_FOR_PROCESS,
	/** A sample hit it; or an unwind in user space did, which needs rows in memory. */
	LOAD_FOR_SAMPLE,
	LOAD_TO_KEEP,
};

static void request_load(struct executable_cache *cache, uint64_t executable_id,
			 enum load_reason reason)
{
	struct executable *executable;
	bool is_wanted = false, is_remote = false, is_waiting = false;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	if (executable && reason != LOAD_FOR_PROCESS)
		executable->is_wanted = true;
	if (executable && !executable->is_load_requested &&
	    (executable->state == EXECUTABLE_UNLOADED ||
	     (reason == LOAD_TO_KEEP && !executable->is_too_large_to_keep)) &&
	    clock_monotonic_ns() >= executable->retry_ns &&
	    (executable->is_wanted || executable->is_needed ||
	     clock_monotonic_ns() >= executable->put_off_until_ns)) {
		executable->is_load_requested = true;
		if (executable->state == EXECUTABLE_UNLOADED) {
			executable->state = EXECUTABLE_LOADING;
			cache->loading_count++;
		}
		is_wanted = true;
		is_remote = executable->is_remote;
	}
	is_waiting = executable && executable->is_load_requested && !executable->is_remote &&
		     reason != LOAD_FOR_PROCESS;
	pthread_mutex_unlock(&cache->lock);
	if (is_wanted)
		cache->config.request_load(cache->config.context, executable_id, is_remote);
	if (is_waiting)
		cache->config.hurry(cache->config.context, executable_id);
}

void executable_rows_want(struct executable_cache *cache, uint64_t executable_id)
{
	request_load(cache, executable_id, LOAD_FOR_SAMPLE);
}

void executable_rows_note_lack(struct executable_cache *cache, uint64_t executable_id)
{
	struct executable *executable;
	bool is_often = false, is_remote = false;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	if (executable && executable->lacks_code && !executable->is_load_requested &&
	    ++executable->lack_count >= LACK_MAX_COUNT &&
	    clock_monotonic_ns() >= executable->retry_ns) {
		is_often = true;
		is_remote = executable->is_remote;
		executable->is_wanted = true;
		executable->is_code_wanted = true;
		executable->is_load_requested = true;
	}
	pthread_mutex_unlock(&cache->lock);
	if (is_often)
		cache->config.request_load(cache->config.context, executable_id, is_remote);
}

void executable_rows_need(struct executable_cache *cache, uint64_t executable_id)
{
	struct executable *executable;
	bool is_new = false;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	if (executable) {
		is_new = !executable->is_needed;
		executable->is_needed = true;
	}
	pthread_mutex_unlock(&cache->lock);
	if (is_new)
		request_load(cache, executable_id, LOAD_FOR_PROCESS);
}

void executable_rows_bring_back(struct executable_cache *cache, uint64_t executable_id)
{
	request_load(cache, executable_id, LOAD_FOR_PROCESS);
}

static bool is_loading_locked(const struct executable_cache *cache, uint64_t executable_id)
{
	const struct executable *executable = executable_cache_by_id(cache, executable_id);

	return executable && executable->is_load_requested;
}

bool executable_rows_are_loading(struct executable_cache *cache, uint64_t executable_id)
{
	bool is_loading;

	pthread_mutex_lock(&cache->lock);
	is_loading = is_loading_locked(cache, executable_id);
	pthread_mutex_unlock(&cache->lock);
	return is_loading;
}

uint64_t executable_rows_first_loading(struct executable_cache *cache,
				       const struct mapping_row *rows, uint32_t count)
{
	uint64_t executable_id = 0;

	pthread_mutex_lock(&cache->lock);
	for (uint32_t i = 0; cache->loading_count && !executable_id && i < count; i++)
		if (is_loading_locked(cache, rows[i].executable_id))
			executable_id = rows[i].executable_id;
	pthread_mutex_unlock(&cache->lock);
	return executable_id;
}

uint32_t executable_rows_loading_count(struct executable_cache *cache)
{
	uint32_t count;

	pthread_mutex_lock(&cache->lock);
	count = cache->loading_count;
	pthread_mutex_unlock(&cache->lock);
	return count;
}

const struct stack_deltas *executable_rows_borrow(struct executable_cache *cache,
						  uint64_t executable_id,
						  struct cached_rows **cached)
{
	struct cached_rows *found;

	pthread_mutex_lock(&cache->lock);
	found = lru_cache_get(&cache->cached_rows, &executable_id);
	if (found)
		found->references++;
	pthread_mutex_unlock(&cache->lock);
	*cached = found;
	if (found)
		return &found->deltas;
	request_load(cache, executable_id, LOAD_TO_KEEP);
	return NULL;
}

void executable_rows_return(struct executable_cache *cache, struct cached_rows *cached)
{
	pthread_mutex_lock(&cache->lock);
	unref_cached(cached);
	pthread_mutex_unlock(&cache->lock);
}

/* Ends a load and sets @state. To be called with the lock held. */
static void set_state(struct executable_cache *cache, struct executable *executable,
		      enum executable_state state)
{
	if (executable->state == EXECUTABLE_LOADING)
		cache->loading_count--;
	executable->state = state;
	executable->is_load_requested = false;
}

/* --- load threads: from a request to rows that wait to be published --- */

/* The origin of a file, by which its separate debug file is looked for. */
struct executable_origin {
	/* NULL: debug files are not looked for. */
	const char *proc_root;
	/* A process that maps the file or did so; 0: none. */
	pid_t pid;
	/* Path in that process's own root. */
	const char *path;
};

/* Returns the binary of @executable_id with one reference; NULL if it is forgotten. */
static struct binary *file_to_load(struct executable_cache *cache, uint64_t executable_id,
				   bool *is_damaged, bool *is_code_wanted,
				   struct executable_origin *origin)
{
	struct executable *executable;
	struct binary *binary = NULL;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	if (executable) {
		binary = binary_ref(executable->binary);
		*is_damaged = !executable->segments.segment_count;
		*is_code_wanted = executable->is_code_wanted;
		*origin = (struct executable_origin){
			.proc_root = cache->config.proc_root,
			.pid = executable->pid,
		};
	}
	pthread_mutex_unlock(&cache->lock);
	return binary;
}

/* Approximate size of .eh_frame, by its search table; without one there may only be code. */
static uint64_t table_bytes(const struct executable *executable)
{
	const struct elf_image *image = &executable->segments;
	uint64_t code_bytes = 0;

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->type == PT_GNU_EH_FRAME && segment->file_bytes)
			return segment->file_bytes / FDE_ENTRY_BYTES * FDE_BYTES;
		if (segment->type == PT_LOAD && segment->flags & PF_X)
			code_bytes += segment->file_bytes;
	}
	return code_bytes;
}

/* Passes loaded rows to the sync thread. */
static void hand_in(struct executable_cache *cache, struct loaded_rows *loaded)
{
	int err;

	pthread_mutex_lock(&cache->lock);
	err = loaded_vector_push(&cache->loaded, *loaded);
	pthread_mutex_unlock(&cache->lock);
	if (err) {
		stack_deltas_deinit(&loaded->deltas);
		executable_load_dropped(cache, loaded->executable_id);
	}
	cache->config.loaded(cache->config.context);
}

struct device_judge {
	struct local_devices devices;
	const char *proc_root;
};

static bool is_local(void *context, pid_t pid, uint32_t major, uint32_t minor)
{
	struct device_judge *judge = context;

	return local_devices_contain(&judge->devices, judge->proc_root, pid, major, minor,
				     clock_monotonic_ns());
}

static int load_cached(void *context, struct hash128 key, struct stack_deltas *deltas)
{
	return delta_cache_load(context, key, deltas);
}

static int read_rows(struct executable_cache *cache, int fd, const struct executable_origin *origin,
		     const struct load_limits *limits, struct loaded_rows *loaded)
{
	struct elf_home *parser = cache->config.parser;
	struct device_judge judge = { .proc_root = origin->proc_root };
	const struct debug_file_search search = {
		.proc_root = origin->proc_root,
		.pid = origin->pid,
		.path = origin->path,
		.judge = { .may_read = is_local, .context = &judge },
	};
	const struct load_helper helper = {
		.search = origin->proc_root ? &search : NULL,
		.load_cached = cache->config.delta_cache ? load_cached : NULL,
		.context = cache->config.delta_cache,
	};
	struct load_result result;
	int err;

	local_devices_init(&judge.devices);
	err = parser ? parser->ops->load(parser, fd, &helper, limits, &result) :
		       executable_file_load(fd, &helper, limits, &result);
	local_devices_deinit(&judge.devices);
	if (err)
		return err;
	if (result.is_new)
		(void)delta_cache_store(cache->config.delta_cache, result.key, &result.deltas);
	loaded->deltas = result.deltas;
	loaded->lacks_code = result.lacks_code;
	return 0;
}

/*
 * Makes the rows of the file. Large amounts of code without tables are analysed only when sampled; but in a
 * runtime such code runs the functions of a language, as V8's builtins do.
 */
static int make_rows(struct executable_cache *cache, const struct binary *binary, int fd,
		     const struct executable_origin *origin, const struct load_limits *limits,
		     struct loaded_rows *loaded)
{
	const struct load_limits all = { limits->max_work_bytes, UINT64_MAX };
	int err;

	log_debug("%s: making unwind rows", binary->path);
	err = read_rows(cache, fd, origin, limits, loaded);
	if (err || !loaded->lacks_code || !executable_runtime_has_ranges(cache, binary))
		return err;
	stack_deltas_deinit(&loaded->deltas);
	return read_rows(cache, fd, origin, &all, loaded);
}

/* Adds what the time since the last call has brought. To be called with the lock held. */
static void save_up(struct executable_cache *cache, uint64_t now_ns)
{
	uint64_t ms = (now_ns - cache->spare_ns) / NS_PER_MS;

	cache->spare_ns += ms * NS_PER_MS;
	cache->spare_bytes += ms * SPARE_BYTES_PER_SECOND / 1000;
	if (cache->spare_bytes > SPARE_MAX_BYTES)
		cache->spare_bytes = SPARE_MAX_BYTES;
}

/* False if the rows are for no sample and no runtime, and there is no time to spare for them. */
static bool spend(struct executable_cache *cache, uint64_t executable_id)
{
	const struct executable *executable;
	uint64_t now_ns, bytes;
	bool is_possible = true;

	pthread_mutex_lock(&cache->lock);
	now_ns = clock_monotonic_ns();
	executable = executable_cache_by_id(cache, executable_id);
	if (executable && !executable->is_wanted && !executable->is_needed &&
	    !executable->runtime_file && now_ns >= cache->spare_ns) {
		save_up(cache, now_ns);
		bytes = table_bytes(executable) + FILE_WORK_BYTES;
		/* All of it pays for one file of any size. */
		if (bytes > SPARE_MAX_BYTES)
			bytes = SPARE_MAX_BYTES;
		is_possible = bytes <= cache->spare_bytes;
		if (is_possible)
			cache->spare_bytes -= bytes;
	}
	pthread_mutex_unlock(&cache->lock);
	return is_possible;
}

/* False if it would take more than @max_work_bytes. */
static bool load(struct executable_cache *cache, uint64_t executable_id, uint64_t max_work_bytes)
{
	struct loaded_rows loaded = { .executable_id = executable_id, .err = -ENOENT };
	struct load_limits limits = { max_work_bytes, PROMPT_CODE_BYTES };
	bool is_damaged = false, is_code_wanted = false;
	struct executable_origin origin;
	struct binary *binary =
		file_to_load(cache, executable_id, &is_damaged, &is_code_wanted, &origin);
	struct borrowed_file from;

	if (!binary)
		return true;
	if (is_code_wanted)
		limits.max_code_bytes = UINT64_MAX;
	/* A file with damaged headers was logged already. */
	origin.path = binary->path;
	from = binary_file_borrow(binary);
	if (from.fd < 0) {
		loaded.err = -ESTALE;
	} else if (!is_damaged) {
		/* Before the rows, which may take long: an unwinder that is wanted is loaded meanwhile. */
		executable_runtime_probe(cache, binary);
		loaded.err = max_work_bytes != UINT64_MAX && !spend(cache, executable_id) ?
				     -EAGAIN :
				     make_rows(cache, binary, from.fd, &origin, &limits, &loaded);
	}
	if (!loaded.err && from.fd >= 0 && !binary_file_is_valid(&from)) {
		stack_deltas_deinit(&loaded.deltas);
		loaded.err = -ESTALE;
	}
	if (loaded.err == -EBADMSG || loaded.err == -E2BIG)
		executable_log_damaged(binary->path, loaded.err);
	/* The error is permanent: another try would give the same. */
	if (loaded.err == -EBADMSG || loaded.err == -E2BIG || loaded.err == -ENOENT ||
	    loaded.err == -EOPNOTSUPP) {
		if (loaded.err != -ENOENT)
			metrics_add(METRIC_EXECUTABLES_FAILED, 1);
		loaded.err = executable_file_empty_deltas(&loaded.deltas);
	} else if (!loaded.err) {
		executable_runtime_flag(cache, binary, &loaded.deltas);
	}
	binary_file_return(&from);
	binary_unref(binary);
	/* Without a limit, -EAGAIN comes from the file system. */
	if (loaded.err == -EAGAIN && max_work_bytes != UINT64_MAX)
		return false;
	hand_in(cache, &loaded);
	return true;
}

void executable_load(struct executable_cache *cache, uint64_t executable_id)
{
	(void)load(cache, executable_id, UINT64_MAX);
}

bool executable_load_quick(struct executable_cache *cache, uint64_t executable_id)
{
	return load(cache, executable_id, QUICK_WORK_BYTES);
}

/* Puts the load off; false if it was requested. */
static bool put_off_unwanted(struct executable_cache *cache, uint64_t executable_id)
{
	struct executable *executable;
	bool is_put_off = true;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	if (executable) {
		is_put_off = !executable->is_wanted && !executable->is_needed &&
			     executable->state == EXECUTABLE_LOADING;
		if (is_put_off) {
			set_state(cache, executable, EXECUTABLE_UNLOADED);
			executable->put_off_until_ns = clock_monotonic_ns() + PUT_OFF_NS;
		}
	}
	pthread_mutex_unlock(&cache->lock);
	return is_put_off;
}

/* Whether the file is a runtime, whose rows its processes need before they are sampled. */
static bool is_runtime(struct executable_cache *cache, uint64_t executable_id)
{
	struct binary *binary = executable_cache_binary(cache, executable_id);
	struct executable *executable;
	bool is_one = false;

	if (!binary)
		return false;
	executable_runtime_probe(cache, binary);
	binary_unref(binary);
	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	is_one = executable && executable_runtime(executable);
	pthread_mutex_unlock(&cache->lock);
	return is_one;
}

void executable_load_size_up(struct executable_cache *cache, struct load_request *request)
{
	struct executable *executable;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, request->executable_id);
	request->bytes = executable ? table_bytes(executable) : 0;
	request->is_wanted = executable && executable->is_wanted;
	request->is_heavy = executable && executable->is_code_wanted;
	pthread_mutex_unlock(&cache->lock);
}

bool executable_put_off(struct executable_cache *cache, uint64_t executable_id)
{
	if (is_runtime(cache, executable_id) || !put_off_unwanted(cache, executable_id))
		return false;
	/* The number of loads decreased, for which callers may wait. */
	cache->config.loaded(cache->config.context);
	return true;
}

void executable_load_unwanted(struct executable_cache *cache, uint64_t executable_id)
{
	if (!executable_load_quick(cache, executable_id) &&
	    !executable_put_off(cache, executable_id))
		(void)load(cache, executable_id, UINT64_MAX);
}

void executable_load_dropped(struct executable_cache *cache, uint64_t executable_id)
{
	struct executable *executable;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	if (executable) {
		executable->retry_ns = clock_monotonic_ns() + RETRY_NS;
		set_state(cache, executable,
			  executable->state == EXECUTABLE_PUBLISHED ? EXECUTABLE_PUBLISHED :
								      EXECUTABLE_UNLOADED);
	}
	pthread_mutex_unlock(&cache->lock);
}

/* --- the sync thread: from loaded rows to the maps, and out of them --- */

static uint64_t deltas_map_bytes(const struct stack_deltas *deltas)
{
	return (uint64_t)stack_deltas_cell_count(deltas) * CELL_BYTES;
}

static void note_too_large(struct executable_cache *cache, uint64_t executable_id)
{
	struct executable *executable;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	if (executable)
		executable->is_too_large_to_keep = true;
	pthread_mutex_unlock(&cache->lock);
}

/* Keeps rows in memory; takes over @deltas. */
static void cache_rows(struct executable_cache *cache, uint64_t executable_id,
		       struct stack_deltas *deltas)
{
	struct cached_rows *cached = NULL;

	if (deltas_map_bytes(deltas) > CACHED_ROWS_MAX_BYTES)
		note_too_large(cache, executable_id);
	else if (cache->config.cache_rows)
		cached = malloc(sizeof(*cached));
	if (cached) {
		cached->references = 1;
		cached->deltas = *deltas;
		pthread_mutex_lock(&cache->lock);
		if (lru_cache_put(&cache->cached_rows, &executable_id, cached,
				  deltas_map_bytes(deltas)))
			unref_cached(cached);
		pthread_mutex_unlock(&cache->lock);
	} else {
		stack_deltas_deinit(deltas);
	}
}

static int publish(struct executable_cache *cache, const struct loaded_rows *loaded,
		   uint64_t now_ns)
{
	struct map_writer *writer = cache->config.writer;
	uint64_t used_bytes, budget_bytes;
	int err;

	/* Rows larger than the whole budget can never fit. */
	writer->ops->memory(writer, &used_bytes, &budget_bytes);
	if (deltas_map_bytes(&loaded->deltas) > budget_bytes)
		return -ENOSPC;
	do {
		err = writer->ops->publish_executable(writer, loaded->executable_id,
						      &loaded->deltas);
	} while (err == -ENOSPC &&
		 executable_rows_make_room(cache, deltas_map_bytes(&loaded->deltas), now_ns));
	return err;
}

static void finish_load(struct executable_cache *cache, struct loaded_rows *loaded, uint64_t now_ns)
{
	static struct log_limit limit = { .interval_ns = NS_PER_SECOND, .burst = 5 };
	struct executable *executable;
	bool is_published, is_replaced;
	uint64_t suppressed;
	int err = loaded->err;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, loaded->executable_id);
	is_published = executable && executable->state == EXECUTABLE_PUBLISHED;
	is_replaced = is_published && !err && executable->lacks_code && !loaded->lacks_code;
	pthread_mutex_unlock(&cache->lock);
	/* Only this thread removes records, so the record stays valid. */
	if (!executable) {
		stack_deltas_deinit(&loaded->deltas);
		return;
	}
	/* Samples in between wait and are unwound in user space. */
	if (is_replaced)
		cache->config.writer->ops->retire_executable(cache->config.writer,
							     loaded->executable_id);
	is_published &= !is_replaced;
	if (!err && !is_published)
		err = publish(cache, loaded, now_ns);
	/* -ESTALE: the file was closed because nobody runs it. Its rows are made when a process runs it again. */
	if (err && err != -ESTALE && log_limit_allow(&limit, now_ns, &suppressed))
		log_warn("%s: no unwind rows: %s; trying again later", executable->binary->path,
			 strerror(-err));
	if (!err && !is_published) {
		metrics_add(METRIC_EXECUTABLES_LOADED, 1);
		log_debug("%s: unwind rows published", executable->binary->path);
	}
	pthread_mutex_lock(&cache->lock);
	if (!err) {
		executable->map_bytes = deltas_map_bytes(&loaded->deltas);
		executable->last_used_ns = now_ns;
		executable->lacks_code = loaded->lacks_code;
	} else {
		executable->retry_ns = now_ns + (err == -ESTALE ? STALE_RETRY_NS : RETRY_NS);
		executable->is_resting |= err == -ESTALE && !is_published;
	}
	set_state(cache, executable,
		  !err || is_published ? EXECUTABLE_PUBLISHED : EXECUTABLE_UNLOADED);
	pthread_mutex_unlock(&cache->lock);
	/* Rows that did not fit the maps are kept too; failed loads have none. */
	if (!loaded->err)
		cache_rows(cache, loaded->executable_id, &loaded->deltas);
}

void executable_rows_publish(struct executable_cache *cache, uint64_t now_ns)
{
	struct loaded_vector loaded;

	pthread_mutex_lock(&cache->lock);
	loaded = cache->loaded;
	memset(&cache->loaded, 0, sizeof(cache->loaded));
	pthread_mutex_unlock(&cache->lock);
	for (size_t i = 0; i < loaded.count; i++)
		finish_load(cache, &loaded.items[i], now_ns);
	loaded_vector_deinit(&loaded);
}

/* Converts the kernel side's used marks to times, by which the least recently used rows are found. */
static void note_used(struct executable_cache *cache, uint64_t now_ns)
{
	struct map_writer *writer = cache->config.writer;

	for (uint32_t i = 0; i < cache->used_slots; i++) {
		struct executable *executable = cache->slots[i];

		if (executable && executable->state == EXECUTABLE_PUBLISHED &&
		    writer->ops->executable_was_used(writer, executable->id))
			executable->last_used_ns = now_ns;
	}
}

/* The next executable to evict: the longest unused of those that no process maps, otherwise of all. */
static struct executable *eviction_candidate(struct executable_cache *cache)
{
	struct executable *best = NULL;

	for (uint32_t i = 0; i < cache->used_slots; i++) {
		struct executable *executable = cache->slots[i];

		if (!executable || executable->state != EXECUTABLE_PUBLISHED)
			continue;
		if (!best || !executable->references > !best->references ||
		    (!executable->references == !best->references &&
		     executable->last_used_ns < best->last_used_ns))
			best = executable;
	}
	return best;
}

bool executable_rows_make_room(struct executable_cache *cache, uint64_t bytes, uint64_t now_ns)
{
	struct map_writer *writer = cache->config.writer;
	uint64_t freed_bytes = 0, used_bytes, budget_bytes;

	/* Waiting is expensive, so free memory for further rows too. */
	writer->ops->memory(writer, &used_bytes, &budget_bytes);
	if (bytes < budget_bytes / EVICT_SHARE)
		bytes = budget_bytes / EVICT_SHARE;
	pthread_mutex_lock(&cache->lock);
	note_used(cache, now_ns);
	while (freed_bytes < bytes) {
		struct executable *executable = eviction_candidate(cache);

		if (!executable)
			break;
		writer->ops->retire_executable(writer, executable->id);
		executable->state = EXECUTABLE_UNLOADED;
		executable->retry_ns = now_ns + COME_BACK_NS;
		freed_bytes += executable->map_bytes;
		metrics_add(METRIC_EXECUTABLES_EVICTED, 1);
	}
	pthread_mutex_unlock(&cache->lock);
	return freed_bytes && !writer->ops->wait_retired(writer);
}

void executable_rows_note_used(struct executable_cache *cache, uint64_t now_ns)
{
	pthread_mutex_lock(&cache->lock);
	note_used(cache, now_ns);
	pthread_mutex_unlock(&cache->lock);
}

void executable_rows_forget(struct executable_cache *cache, struct executable *executable)
{
	struct map_writer *writer = cache->config.writer;

	if (executable->state == EXECUTABLE_PUBLISHED)
		writer->ops->retire_executable(writer, executable->id);
	set_state(cache, executable, EXECUTABLE_UNLOADED);
	lru_cache_remove(&cache->cached_rows, &executable->id);
}

void executable_rows_rest(struct executable_cache *cache, struct executable *executable)
{
	/* A load in progress is finished first; late samples may have requested it. */
	if (executable->is_load_requested ||
	    (executable->is_resting && executable->state != EXECUTABLE_PUBLISHED))
		return;
	executable_rows_forget(cache, executable);
	executable->map_bytes = 0;
	executable->is_resting = true;
}
