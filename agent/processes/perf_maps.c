/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record per pid. While a record is requested it is not removed, so load_remote may use its own fields
 * without the lock. Files are hostile: perf_map.c and jitdump.c parse them, and the amount and rate of reading
 * and the memory are bounded here.
 */
#include "agent/processes/perf_maps.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ebpf/abi/frame.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/base/log.h"
#include "lib/host/jitdump_file.h"
#include "lib/host/perf_map.h"
#include "lib/host/proc_info.h"
#include "lib/model/trace.h"

enum {
	READ_BYTES = JITDUMP_READ_BYTES,
	READS_AT_ONCE = 16,
	/* The end of what was read, by which a rewritten file is told from one that has grown. */
	TAIL_BYTES = 128,
};

_Static_assert((int)READ_BYTES <= (int)FILE_HOME_READ_BYTES, "as much is read at once");

/* Since clocks are set, a process's file may seem older than the process by this much. */
#define CLOCK_SLACK_NS (2 * (int64_t)NS_PER_SECOND)

/* In the order of look-up. */
enum source {
	SOURCE_JITDUMP,
	SOURCE_PERF_MAP,
	SOURCE_COUNT,
};

/* The names of one process. */
struct named_code {
	struct jitdump jitdump;
	struct code_names perf_map;
};

/* The file and the position up to which it was read. */
struct source_file {
	uint64_t device;
	uint64_t inode;
	uint64_t offset;
	/* When it was last looked at. */
	int64_t mtime_ns;
	uint64_t size;
	/* The bytes before offset. */
	uint32_t tail_bytes;
	char tail[TAIL_BYTES];
};

struct named_process {
	uint32_t pid;
	struct process_identity identity;
	/* Fields of work and load_remote, under the lock: */
	struct named_code code;
	uint64_t state;
	uint64_t asked_ns;
	uint64_t next_read_ns;
	uint64_t pause_ns;
	bool is_requested;
	/* Fields of load_remote while is_requested is set, otherwise under the lock. */
	struct source_file files[SOURCE_COUNT];
	/* The mapping of the jitdump file, if the path is not NULL; the time of the next search for one. */
	struct proc_mapping marker;
	char *marker_path;
	uint64_t next_search_ns;
	uint64_t search_pause_ns;
};

/* A file to read, and the process's user. */
struct file_source {
	uid_t uid;
	struct code_file file;
};

struct perf_maps {
	struct perf_maps_config config;
	pthread_mutex_t lock;
	/* pid -> struct named_process. */
	struct hash_map processes;
	size_t bytes;
	uint64_t last_state;
	/* Bytes read in the current second; used by load_remote. */
	uint64_t second;
	uint64_t second_bytes;
};

int perf_maps_create(const struct perf_maps_config *config, struct perf_maps **maps)
{
	struct perf_maps *created = calloc(1, sizeof(*created));

	if (!created)
		return fail(-ENOMEM, "no memory for perf maps");
	created->config = *config;
	pthread_mutex_init(&created->lock, NULL);
	*maps = created;
	return 0;
}

static size_t named_bytes(const struct named_process *process)
{
	return jitdump_bytes(&process->code.jitdump) + code_names_bytes(&process->code.perf_map);
}

static void forget_source(struct perf_maps *maps, struct named_process *process, int source)
{
	maps->bytes -= named_bytes(process);
	if (source == SOURCE_JITDUMP)
		jitdump_deinit(&process->code.jitdump);
	else
		code_names_deinit(&process->code.perf_map);
	maps->bytes += named_bytes(process);
	process->files[source].offset = 0;
	process->state = named_bytes(process) ? ++maps->last_state : 0;
}

static void forget_names(struct perf_maps *maps, struct named_process *process)
{
	for (int source = 0; source < SOURCE_COUNT; source++)
		forget_source(maps, process, source);
}

static void free_process(struct named_process *process)
{
	jitdump_deinit(&process->code.jitdump);
	code_names_deinit(&process->code.perf_map);
	free(process->marker_path);
	free(process);
}

static void remove_process(struct perf_maps *maps, struct named_process *process)
{
	forget_names(maps, process);
	hash_map_remove(&maps->processes, process->pid, NULL);
	free_process(process);
}

void perf_maps_destroy(struct perf_maps *maps)
{
	size_t cursor = 0;
	uint64_t value;

	if (!maps)
		return;
	while (hash_map_next(&maps->processes, &cursor, NULL, &value))
		free_process((void *)(uintptr_t)value);
	hash_map_deinit(&maps->processes);
	pthread_mutex_destroy(&maps->lock);
	free(maps);
}

/* The process whose names were requested longest ago and are not being read; NULL if there is none. */
static struct named_process *least_wanted(const struct perf_maps *maps, bool with_names_only)
{
	struct named_process *least = NULL;
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&maps->processes, &cursor, NULL, &value)) {
		struct named_process *process = (void *)(uintptr_t)value;

		if (process->is_requested || (with_names_only && !named_bytes(process)))
			continue;
		if (!least || process->asked_ns < least->asked_ns)
			least = process;
	}
	return least;
}

static struct named_process *find(const struct perf_maps *maps, uint32_t pid,
				  const struct process_identity *identity)
{
	struct named_process *process = hash_map_get_pointer(&maps->processes, pid);

	return process && !memcmp(&process->identity, identity, sizeof(*identity)) ? process : NULL;
}

static struct named_process *add(struct perf_maps *maps, uint32_t pid,
				 const struct process_identity *identity)
{
	struct named_process *process = hash_map_get_pointer(&maps->processes, pid);

	/* The record is of another program in this pid. It is removed as soon as nobody reads it. */
	if (process && process->is_requested)
		return NULL;
	if (process)
		remove_process(maps, process);
	if (maps->processes.count >= PERF_MAPS_MAX_PROCESSES) {
		process = least_wanted(maps, false);
		if (!process)
			return NULL;
		remove_process(maps, process);
	}
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->identity = *identity;
	process->pause_ns = PERF_MAP_MIN_NS;
	process->search_pause_ns = PERF_MAP_MIN_NS / 2;
	if (hash_map_set_pointer(&maps->processes, pid, process)) {
		free(process);
		return NULL;
	}
	return process;
}

uint64_t perf_maps_ask(struct perf_maps *maps, uint32_t pid,
		       const struct process_identity *identity, uint64_t now_ns)
{
	struct named_process *process;
	bool is_due = false;
	uint64_t state = 0;

	pthread_mutex_lock(&maps->lock);
	process = find(maps, pid, identity);
	if (!process)
		process = add(maps, pid, identity);
	if (process) {
		process->asked_ns = now_ns;
		state = process->state;
		is_due = !process->is_requested && now_ns >= process->next_read_ns;
		if (is_due)
			process->is_requested = true;
	}
	pthread_mutex_unlock(&maps->lock);
	if (is_due)
		maps->config.request(maps->config.context, pid, identity);
	return state;
}

/* --- copies --- */

static bool find_name(const struct named_code *code, uint64_t address,
		      struct code_location *location)
{
	const struct code_function *function;

	if (jitdump_find(&code->jitdump, address, location))
		return true;
	function = code_names_find(&code->perf_map, address);
	if (!function)
		return false;
	*location =
		(struct code_location){ .function = code_names_text(&code->perf_map, function) };
	return true;
}

/* Appends a string, for which there is room. Returns its offset. */
static uint32_t append_text(struct code_text *text, const char *string, size_t bytes)
{
	uint32_t start = (uint32_t)text->count;

	memcpy(text->items + start, string, bytes);
	text->count += bytes;
	return start;
}

/* -E2BIG, -ENOMEM. */
static int copy_name(struct stack_code *code, uint32_t word, const struct code_location *location)
{
	size_t function_bytes = strlen(location->function) + 1;
	size_t file_bytes = location->file ? strlen(location->file) + 1 : 0;
	size_t bytes = code->text.count + function_bytes + file_bytes;
	struct copied_name name = {
		.word = word,
		.line = location->line,
		.has_file = location->file,
	};
	int err = bytes > STACK_CODE_MAX_BYTES ? -E2BIG : code_text_reserve(&code->text, bytes);

	if (!err)
		err = copied_name_vector_reserve(&code->names, code->names.count + 1);
	if (err)
		return err;
	name.function = append_text(&code->text, location->function, function_bytes);
	if (location->file)
		name.file = append_text(&code->text, location->file, file_bytes);
	return copied_name_vector_push(&code->names, name);
}

static void copy_names(const struct named_code *from, const uint64_t *words, uint32_t count,
		       struct stack_code *code)
{
	for (uint32_t i = 0; i < count; i += frame_word_count(words[i])) {
		struct frame frame = { .flags = frame_flags(words[i]),
				       .address = frame_address(words[i]) };
		struct code_location location;

		if (frame_kind(words[i]) == FRAME_NATIVE &&
		    words[i + 1] == EXECUTABLE_ID_ANONYMOUS &&
		    find_name(from, frame_lookup_address(&frame), &location) &&
		    copy_name(code, i, &location))
			code->is_cut = true;
	}
}

void perf_maps_copy(struct perf_maps *maps, uint32_t pid, const struct process_identity *identity,
		    const uint64_t *words, uint32_t count, struct stack_code *code)
{
	const struct named_process *process;

	code->names.count = 0;
	code->text.count = 0;
	code->is_cut = false;
	pthread_mutex_lock(&maps->lock);
	process = find(maps, pid, identity);
	if (process && process->state)
		copy_names(&process->code, words, count, code);
	pthread_mutex_unlock(&maps->lock);
}

bool stack_code_find(const struct stack_code *code, uint32_t word, struct code_location *location)
{
	size_t low = 0, high = code->names.count;
	const struct copied_name *name;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (code->names.items[middle].word < word)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == code->names.count || code->names.items[low].word != word)
		return false;
	name = &code->names.items[low];
	*location = (struct code_location){
		.function = code->text.items + name->function,
		.file = name->has_file ? code->text.items + name->file : NULL,
		.line = name->line,
	};
	return true;
}

void stack_code_deinit(struct stack_code *code)
{
	copied_name_vector_deinit(&code->names);
	code_text_deinit(&code->text);
}

void perf_maps_expire(struct perf_maps *maps, uint64_t now_ns)
{
	struct named_process *process;

	pthread_mutex_lock(&maps->lock);
	while ((process = least_wanted(maps, false)) &&
	       now_ns > process->asked_ns + PERF_MAP_KEEP_NS)
		remove_process(maps, process);
	pthread_mutex_unlock(&maps->lock);
}

void perf_maps_request_dropped(struct perf_maps *maps, uint32_t pid)
{
	struct named_process *process;

	pthread_mutex_lock(&maps->lock);
	process = hash_map_get_pointer(&maps->processes, pid);
	if (process)
		process->is_requested = false;
	pthread_mutex_unlock(&maps->lock);
}

/* --- reading --- */

static int64_t start_realtime_ns(const struct process_identity *identity)
{
	uint64_t age_ns = clock_monotonic_ns() - identity->start_time_ns;

	return (int64_t)(clock_realtime_ns() - age_ns);
}

static uint64_t next_pause(uint64_t pause_ns, bool is_absent, bool has_grown)
{
	uint64_t limit_ns = is_absent ? PERF_MAP_ABSENT_MAX_NS : PERF_MAP_MAX_NS;

	if (has_grown)
		return PERF_MAP_MIN_NS;
	return 2 * pause_ns < limit_ns ? 2 * pause_ns : limit_ns;
}

/* Adds the next bytes of a file that has @left_bytes left. */
static int add_bytes(struct named_process *process, int source, const char *bytes, size_t size,
		     uint64_t left_bytes, uint64_t *used)
{
	size_t used_text = 0;
	int err;

	if (source == SOURCE_JITDUMP)
		return jitdump_add(&process->code.jitdump, bytes, size, left_bytes, used);
	err = perf_map_add(&process->code.perf_map, bytes, size, &used_text);
	/* A full buffer without a line end is skipped as a malformed line. */
	*used = !used_text && size == READ_BYTES ? size : used_text;
	return err;
}

/* Notes that @used bytes are done with, of which @size are at @bytes: a jitdump file's code is skipped unread. */
static void keep_tail(struct source_file *file, const char *bytes, size_t size, uint64_t used)
{
	file->offset += used;
	file->tail_bytes = 0;
	if (used > size)
		return;
	file->tail_bytes = used < TAIL_BYTES ? (uint32_t)used : TAIL_BYTES;
	memcpy(file->tail, bytes + used - file->tail_bytes, file->tail_bytes);
}

static uint64_t left_out_count(const struct named_process *process)
{
	return process->code.jitdump.names.left_out_count + process->code.perf_map.left_out_count;
}

/* Adds @bytes; false if no more can be read. */
static bool take_bytes(struct perf_maps *maps, struct named_process *process, int source,
		       const char *bytes, size_t size, uint64_t left_bytes)
{
	bool was_whole = !left_out_count(process);
	size_t before = named_bytes(process);
	struct named_process *other;
	uint64_t used = 0;
	int err;

	pthread_mutex_lock(&maps->lock);
	err = add_bytes(process, source, bytes, size, left_bytes, &used);
	maps->bytes += named_bytes(process) - before;
	while (maps->bytes > PERF_MAPS_MAX_BYTES && (other = least_wanted(maps, true)))
		forget_names(maps, other);
	if (used)
		keep_tail(&process->files[source], bytes, size, used);
	if (used || err)
		process->state = ++maps->last_state;
	/* The file is read from its start another time. */
	if (err == -ENOMEM)
		forget_source(maps, process, source);
	pthread_mutex_unlock(&maps->lock);
	if (err)
		log_debug("process %u: names of its code end here: %s", process->pid, error_text());
	if (was_whole && left_out_count(process))
		log_debug("process %u: more code with names than is kept; later functions have "
			  "none",
			  process->pid);
	return used && !err;
}

static bool may_read(struct perf_maps *maps, uint64_t now_ns)
{
	uint64_t second = now_ns / NS_PER_SECOND;

	if (second != maps->second) {
		maps->second = second;
		maps->second_bytes = 0;
	}
	return maps->second_bytes < PERF_MAPS_BYTES_PER_SECOND;
}

/*
 * True if what was read of a file is no longer in it, though it is not shorter. A jitdump file is only appended to; some
 * runtimes write their perf map anew.
 */
static bool is_rewritten(struct perf_maps *maps, int source, const struct file_source *from,
			 const struct source_file *file, const struct file_key *key)
{
	struct file_home *files = maps->config.files;
	struct file_key other_key;
	char tail[TAIL_BYTES];
	uint32_t count;

	if (source != SOURCE_PERF_MAP || !file->offset || key->mtime_ns == file->mtime_ns)
		return false;
	if (key->size == file->size)
		return true;
	return files->ops->read(files, from->uid, &from->file, file->offset - file->tail_bytes,
				tail, file->tail_bytes, &other_key, &count) ||
	       count != file->tail_bytes || memcmp(tail, file->tail, count);
}

/* Checks the file's identity; false if it is another file than before, shorter, or rewritten. */
static bool is_known_file(struct perf_maps *maps, struct named_process *process, int source,
			  const struct file_source *from, const struct file_key *key)
{
	struct source_file *file = &process->files[source];
	bool was_read = file->offset;
	bool is_known = file->device == key->device && file->inode == key->inode &&
			file->offset <= key->size && !is_rewritten(maps, source, from, file, key);

	file->device = key->device;
	file->inode = key->inode;
	file->mtime_ns = key->mtime_ns;
	file->size = key->size;
	if (is_known)
		return true;
	pthread_mutex_lock(&maps->lock);
	forget_source(maps, process, source);
	pthread_mutex_unlock(&maps->lock);
	return !was_read;
}

/*
 * Reads on from the last position, in parts, so that other files have their turn. *@has_grown is set if there
 * was new data. An error means that there is no such file, or that no more of it can be read.
 */
static int read_file(struct perf_maps *maps, struct named_process *process, int source,
		     const struct file_source *from, uint64_t now_ns, bool *has_grown)
{
	struct file_home *files = maps->config.files;
	struct source_file *file = &process->files[source];
	_cleanup_(free_pointer) char *bytes = malloc(READ_BYTES);
	struct file_key key;
	uint32_t count;

	if (!bytes || !files)
		return fail(-ENOMEM, "no memory for names of code");
	for (int i = 0; i < READS_AT_ONCE; i++) {
		/* Only checks that the file still exists and is the same. */
		bool is_look = !may_read(maps, now_ns) ||
			       (source == SOURCE_JITDUMP && process->code.jitdump.is_broken);
		uint64_t left_bytes;
		int err = files->ops->read(files, from->uid, &from->file, file->offset, bytes,
					   is_look ? 0 : READ_BYTES, &key, &count);

		if (err)
			return err;
		if (!is_known_file(maps, process, source, from, &key))
			continue;
		if (!count)
			break;
		left_bytes = key.size > file->offset ? key.size - file->offset : 0;
		maps->second_bytes += count;
		if (left_bytes < count)
			left_bytes = count;
		if (!take_bytes(maps, process, source, bytes, count, left_bytes))
			break;
		*has_grown = true;
	}
	return 0;
}

/* Looks for the mapping by which the process announces its jitdump file. */
static int find_marker(struct perf_maps *maps, struct named_process *process)
{
	_cleanup_(proc_maps_deinit) struct proc_maps all = { 0 };
	pid_t pid = (pid_t)process->pid;
	struct proc_home *reads = maps->config.reads;
	int err = reads->ops->read_maps(reads, pid, &all, NULL);

	return err ? err :
		     jitdump_find_mapping(maps->config.proc_root, pid, &all, &process->marker,
					  &process->marker_path);
}

/* Reads the jitdump file by the known mapping, or by one that is searched now and then. */
static int read_jitdump(struct perf_maps *maps, struct named_process *process,
			struct file_source *from, uint64_t now_ns, bool *has_grown)
{
	int err;

	from->file.mapping = &process->marker;
	if (process->marker_path &&
	    !read_file(maps, process, SOURCE_JITDUMP, from, now_ns, has_grown))
		return 0;
	free(process->marker_path);
	process->marker_path = NULL;
	if (now_ns < process->next_search_ns)
		return -ENOENT;
	err = find_marker(maps, process);
	if (!err)
		err = read_file(maps, process, SOURCE_JITDUMP, from, now_ns, has_grown);
	process->search_pause_ns = err ? next_pause(process->search_pause_ns, true, false) :
					 PERF_MAP_MIN_NS;
	process->next_search_ns = now_ns + process->search_pause_ns;
	return err;
}

static int read_perf_map(struct perf_maps *maps, struct named_process *process,
			 struct file_source *from, uint64_t now_ns, bool *has_grown)
{
	from->file.mapping = NULL;
	from->file.since_ns = start_realtime_ns(&process->identity) - CLOCK_SLACK_NS;
	return read_file(maps, process, SOURCE_PERF_MAP, from, now_ns, has_grown);
}

void perf_maps_read(struct perf_maps *maps, uint32_t pid, const struct process_identity *identity,
		    uint64_t now_ns)
{
	struct file_source from = { .file.pid = pid };
	struct named_process *process;
	bool has_grown = false;
	int dump_err, map_err;

	pthread_mutex_lock(&maps->lock);
	process = find(maps, pid, identity);
	pthread_mutex_unlock(&maps->lock);
	if (!process)
		return;
	dump_err = map_err = proc_user(maps->config.proc_root, (pid_t)pid, &from.uid);
	if (!dump_err) {
		dump_err = read_jitdump(maps, process, &from, now_ns, &has_grown);
		map_err = read_perf_map(maps, process, &from, now_ns, &has_grown);
	}
	if (dump_err && map_err)
		log_debug("process %u: no perf map and no jitdump file: %s", pid, error_text());
	pthread_mutex_lock(&maps->lock);
	process->pause_ns = next_pause(process->pause_ns, dump_err && map_err, has_grown);
	process->next_read_ns = now_ns + process->pause_ns;
	process->is_requested = false;
	pthread_mutex_unlock(&maps->lock);
}
