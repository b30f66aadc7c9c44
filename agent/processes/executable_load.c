/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to rows that wait to be published. What the files say is checked by those who parse them. */
#include "agent/processes/executable_load.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "agent/processes/executable_file.h"
#include "agent/processes/executable_rows.h"
#include "agent/processes/load_queue.h"
#include "agent/processes/runtimes/executable_runtime.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/host/binary_file.h"
#include "lib/model/metrics.h"

enum {
	/** A load is quick if it takes no longer than so much .eh_frame, some 10 ms. */
	QUICK_WORK_BYTES = 3 << 20,
	/**
	 * Code that no table describes: more of it is analysed when samples came to it often. Most of a program that
	 * starts is never sampled again.
	 */
	PROMPT_CODE_BYTES = 2 << 20,
	/** The bytes of .eh_frame for each entry of its search table, which has 8 bytes. */
	FDE_BYTES = 40,
	FDE_ENTRY_BYTES = 8,
};

/* The file of @executable_id, one reference; NULL if it is forgotten. */
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

/* Hands what was loaded to the sync thread. */
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

static int read_rows(struct executable_cache *cache, int fd, const struct executable_origin *origin,
		     const struct load_limits *limits, struct loaded_rows *loaded)
{
	return executable_file_load(fd, origin, cache->config.delta_cache, limits, &loaded->deltas,
				    &loaded->lacks_code);
}

/*
 * Makes the rows of the file. Much code without tables waits until it is sampled; but in a runtime it is what runs the
 * functions of a language, as V8's builtins do.
 */
static int make_rows(struct executable_cache *cache, const struct binary *binary, int fd,
		     const struct executable_origin *origin, const struct load_limits *limits,
		     struct loaded_rows *loaded)
{
	const struct load_limits all = { limits->max_work_bytes, UINT64_MAX };
	int err = read_rows(cache, fd, origin, limits, loaded);

	if (err || !loaded->lacks_code || !executable_runtime_has_ranges(cache, binary))
		return err;
	stack_deltas_deinit(&loaded->deltas);
	return read_rows(cache, fd, origin, &all, loaded);
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
	log_debug("%s: making unwind rows", binary->path);
	/* A file with damaged headers was logged already. */
	origin.path = binary->path;
	from = binary_file_borrow(binary);
	if (from.fd < 0)
		loaded.err = -ESTALE;
	else if (!is_damaged)
		loaded.err = make_rows(cache, binary, from.fd, &origin, &limits, &loaded);
	if (loaded.err == -EBADMSG || loaded.err == -E2BIG)
		executable_log_damaged(binary->path, loaded.err);
	/* The file has said all that it will ever say. */
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
	/* Without a limit it is what the file system says. */
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

/* False if somebody has asked for it. */
static bool put_off(struct executable_cache *cache, uint64_t executable_id)
{
	struct executable *executable;
	bool is_put_off = true;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	if (executable) {
		is_put_off = !executable->is_wanted && !executable->is_needed &&
			     executable->state == EXECUTABLE_LOADING;
		if (is_put_off)
			executable_rows_set_state(cache, executable, EXECUTABLE_UNLOADED);
	}
	pthread_mutex_unlock(&cache->lock);
	return is_put_off;
}

/* Whether samples of its processes need the file's rows before they come to it. */
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

/* About how much .eh_frame there is, by its search table; without one there may only be code. */
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

void executable_load_unwanted(struct executable_cache *cache, uint64_t executable_id)
{
	if (executable_load_quick(cache, executable_id))
		return;
	if (is_runtime(cache, executable_id) || !put_off(cache, executable_id))
		(void)load(cache, executable_id, UINT64_MAX);
	else
		/* Whoever waits for all that is loading waits for less. */
		cache->config.loaded(cache->config.context);
}

void executable_load_dropped(struct executable_cache *cache, uint64_t executable_id)
{
	struct executable *executable;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	if (executable) {
		executable->retry_ns = clock_monotonic_ns() + EXECUTABLE_RETRY_NS;
		executable_rows_set_state(cache, executable,
					  executable->state == EXECUTABLE_PUBLISHED ?
						  EXECUTABLE_PUBLISHED :
						  EXECUTABLE_UNLOADED);
	}
	pthread_mutex_unlock(&cache->lock);
}
