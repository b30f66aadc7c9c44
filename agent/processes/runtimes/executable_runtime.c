/* SPDX-License-Identifier: Apache-2.0 */
/* The languages read the files; here only their results are kept. */
#include "agent/processes/runtimes/executable_runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/runtimes/elf_home.h"
#include "interpreters/language.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/host/binary_file.h"
#include "lib/model/flag_ranges.h"
#include "lib/model/metrics.h"

void executable_runtime_release(const struct runtime_file *file)
{
	if (file && file->is_copy)
		free((void *)file);
	else if (file)
		file->language->ops->release((struct runtime_file *)file);
}

const struct runtime_file *executable_runtime(const struct executable *executable)
{
	return __atomic_load_n(&executable->runtime_file, __ATOMIC_ACQUIRE);
}

bool executable_runtime_has_news(const struct executable_cache *cache)
{
	return executable_runtime_count(cache) !=
	       __atomic_load_n(&cache->runtimes_seen, __ATOMIC_ACQUIRE);
}

uint32_t executable_runtime_count(const struct executable_cache *cache)
{
	return __atomic_load_n(&cache->runtime_count, __ATOMIC_ACQUIRE);
}

void executable_runtime_note_seen(struct executable_cache *cache, uint32_t count)
{
	__atomic_store_n(&cache->runtimes_seen, count, __ATOMIC_RELEASE);
}

void executable_runtime_log_refused(const char *path, const char *more)
{
	static struct log_limit limit = { .interval_ns = NS_PER_SECOND, .burst = 20 };
	uint64_t suppressed;

	metrics_add(METRIC_INTERPRETERS_REFUSED, 1);
	if (log_limit_allow(&limit, clock_monotonic_ns(), &suppressed))
		log_warn("%s%s: %s; its programs show native frames only", path, more,
			 error_text());
}

void executable_runtime_note_refused(struct executable *executable)
{
	char *none = NULL, *text = strdup(error_text());

	if (!__atomic_compare_exchange_n(&executable->refusal, &none, text, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		free(text);
}

const char *executable_runtime_refusal(const struct executable *executable)
{
	return __atomic_load_n(&executable->refusal, __ATOMIC_ACQUIRE);
}

/* Parses the file here. */
static int probe_file(const struct executable_cache *cache, int fd, const char *path,
		      struct runtime_file **file, bool *copies_stacks)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	int err = elf_image_init_fd(&image, fd);

	if (err)
		return err;
	*copies_stacks = cache->config.copies_stacks &&
			 cache->config.copies_stacks(cache->config.languages, &image);
	return cache->config.probe(cache->config.languages, &image, path, file);
}

static int probe(const struct executable_cache *cache, const struct binary *binary,
		 struct runtime_file **file, bool *copies_stacks)
{
	_cleanup_(binary_file_return) struct borrowed_file from = binary_file_borrow(binary);
	struct elf_home *parser = cache->config.parser;
	int err;

	if (from.fd < 0)
		return -ESTALE;
	err = parser ? parser->ops->probe(parser, from.fd, binary->path, cache->config.languages,
					  file, copies_stacks) :
		       probe_file(cache, from.fd, binary->path, file, copies_stacks);
	if (err == -EOPNOTSUPP)
		executable_runtime_log_refused(binary->path, "");
	else if (err && err != -ENOENT)
		log_debug("%s: %s; taken for no runtime", binary->path, error_text());
	if (err)
		return err;
	log_debug("%s: %s", binary->path, (*file)->version);
	if (cache->config.runtime_found)
		cache->config.runtime_found(cache->config.context,
					    (uint32_t)((*file)->language->id - language_ids));
	return 0;
}

/* Marks the file as probed; false if it was probed before. */
static bool begin_probe(struct executable_cache *cache, uint64_t executable_id)
{
	struct executable *executable;
	bool is_first = false;

	if (!cache->config.probe)
		return false;
	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	if (executable && !executable->is_probed) {
		executable->is_probed = true;
		is_first = true;
	}
	pthread_mutex_unlock(&cache->lock);
	return is_first;
}

/* Notes that a probe has ended, with @err. */
static void end_probe(struct executable_cache *cache, uint64_t executable_id, int err)
{
	struct executable *executable;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	/* The file is gone, but may come back; or it could not be parsed now. */
	if (executable && (err == -ESTALE || err == -EAGAIN))
		executable->is_probed = false;
	else if (executable)
		executable->is_probe_done = true;
	pthread_mutex_unlock(&cache->lock);
}

bool executable_runtime_is_pending(struct executable_cache *cache, const struct mapping_row *rows,
				   uint32_t count)
{
	bool is_pending = false;

	pthread_mutex_lock(&cache->lock);
	for (uint32_t i = 0; cache->loading_count && !is_pending && i < count; i++) {
		const struct executable *executable =
			executable_cache_by_id(cache, rows[i].executable_id);

		is_pending = executable && executable->is_load_requested &&
			     !executable->is_probe_done;
	}
	pthread_mutex_unlock(&cache->lock);
	return is_pending;
}

/* Notes what a probe of the file with this id has found. */
static void note_found(struct executable_cache *cache, uint64_t executable_id, int err,
		       struct runtime_file *file, bool copies_stacks)
{
	struct executable *executable;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	if (executable)
		executable->copies_stacks = copies_stacks;
	if (executable && err == -EOPNOTSUPP) {
		executable_runtime_note_refused(executable);
	} else if (executable && !err) {
		__atomic_store_n(&executable->runtime_file, file, __ATOMIC_RELEASE);
		__atomic_add_fetch(&cache->runtime_count, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&cache->lock);
	if (!executable && !err)
		executable_runtime_release(file);
}

void executable_runtime_probe(struct executable_cache *cache, const struct binary *binary)
{
	bool copies_stacks = false;
	struct runtime_file *file = NULL;
	int err;

	if (!begin_probe(cache, binary->executable_id))
		return;
	err = probe(cache, binary, &file, &copies_stacks);
	if (!err || err == -EOPNOTSUPP || copies_stacks)
		note_found(cache, binary->executable_id, err, file, copies_stacks);
	end_probe(cache, binary->executable_id, err);
}

/* Flags for the rows of an executable. */
struct row_flags {
	bool copies_stacks;
	struct code_range ranges[LOOP_RANGES_MAX];
	uint32_t range_count;
	/* The kind of frames that is stepped without rules; 0: none. */
	uint8_t language;
};

/* A copy, since the record may be removed at any time. */
static struct row_flags copy_flags(struct executable_cache *cache, uint64_t executable_id)
{
	const struct runtime_file *file = NULL;
	struct row_flags flags = { 0 };
	struct executable *executable;

	pthread_mutex_lock(&cache->lock);
	executable = executable_cache_by_id(cache, executable_id);
	if (executable) {
		flags.copies_stacks = executable->copies_stacks;
		file = executable_runtime(executable);
	}
	if (file) {
		flags.range_count = file->range_count;
		memcpy(flags.ranges, file->ranges, file->range_count * sizeof(*file->ranges));
		if (file->steps_without_rules)
			flags.language = file->language->id->kind;
	}
	pthread_mutex_unlock(&cache->lock);
	return flags;
}

bool executable_runtime_has_ranges(struct executable_cache *cache, const struct binary *binary)
{
	return copy_flags(cache, binary->executable_id).range_count;
}

void executable_runtime_flag(struct executable_cache *cache, const struct binary *binary,
			     struct stack_deltas *deltas)
{
	static const struct code_range all = { 0, UINT64_MAX };
	struct row_flags flags;

	executable_runtime_probe(cache, binary);
	flags = copy_flags(cache, binary->executable_id);
	if (flags.copies_stacks && stack_deltas_flag_ranges(deltas, &all, 1, RULE_COPIES_STACKS, 0))
		executable_runtime_log_refused(binary->path, "");
	if (flags.range_count && stack_deltas_flag_ranges(deltas, flags.ranges, flags.range_count,
							  RULE_LOOP, flags.language))
		executable_runtime_log_refused(binary->path, "");
}
