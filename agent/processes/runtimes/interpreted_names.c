/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The languages bound each string and guarantee UTF-8. Here the total size for a stack is bounded.
 */
#include "agent/processes/runtimes/interpreted_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/sample.h"
#include "interpreters/registry.h"
#include "lib/base/hash128.h"
#include "lib/model/metrics.h"

enum {
	CHUNK_BYTES = 16 << 10,
	/* Overhead of a cache entry in bytes. */
	ENTRY_BYTES = 64,
};

_Static_assert((int)CHUNK_BYTES > (int)FRAME_NAME_MAX_BYTES, "a name fits into a chunk");
_Static_assert((int)INTERPRETED_NAMES_SLOTS >= (int)TRACE_MAX_WORDS, "slots for all frames");

struct name_chunk {
	struct name_chunk *next;
	size_t used;
	char bytes[CHUNK_BYTES];
};

struct name_key {
	uint64_t runtime_id;
	uint64_t words[3];
};

/* A cached name. count 0: no function of the program. The strings follow the frames. */
struct cached_name {
	uint32_t count;
	struct frame frames[];
};

static void release_cached(void *context, const void *key, void *value)
{
	(void)context;
	(void)key;
	free(value);
}

void interpreted_names_init(struct interpreted_names *names)
{
	memset(names, 0, sizeof(*names));
	lru_cache_init(&names->cache, sizeof(struct name_key), INTERPRETED_NAMES_CACHE_ENTRIES,
		       INTERPRETED_NAMES_CACHE_BYTES, release_cached, NULL);
}

void interpreted_names_deinit(struct interpreted_names *names)
{
	while (names->chunks) {
		struct name_chunk *next = names->chunks->next;

		free(names->chunks);
		names->chunks = next;
	}
	stack_name_vector_deinit(&names->stack);
	named_frame_vector_deinit(&names->frames);
	name_answers_deinit(&names->answers);
	lru_cache_deinit(&names->cache);
}

void interpreted_names_age(struct interpreted_names *names)
{
	lru_cache_age(&names->cache);
}

static void forget_stack(struct interpreted_names *names)
{
	while (names->chunks && names->chunks->next) {
		struct name_chunk *next = names->chunks->next;

		free(names->chunks);
		names->chunks = next;
	}
	if (names->chunks)
		names->chunks->used = 0;
	names->byte_count = 0;
	for (size_t i = 0; i < names->stack.count; i++)
		names->slots[names->stack.items[i].slot] = 0;
	names->stack.count = 0;
	names->frames.count = 0;
}

/* Allocates @bytes; NULL if there is no room. */
static char *make_room(struct interpreted_names *names, size_t bytes)
{
	struct name_chunk *chunk = names->chunks;
	char *room;

	if (bytes > CHUNK_BYTES || names->byte_count + bytes > INTERPRETED_NAMES_MAX_BYTES)
		return NULL;
	if (!chunk || chunk->used + bytes > CHUNK_BYTES) {
		chunk = malloc(sizeof(*chunk));
		if (!chunk)
			return NULL;
		chunk->next = names->chunks;
		chunk->used = 0;
		names->chunks = chunk;
	}
	room = chunk->bytes + chunk->used;
	chunk->used += bytes;
	names->byte_count += bytes;
	return room;
}

/* Copies @string, which may be NULL; -ENOMEM if there is no room. */
static int copy_string(struct interpreted_names *names, const char *string, const char **copy)
{
	size_t bytes = string ? strlen(string) + 1 : 0;
	char *room = NULL;

	if (string) {
		room = make_room(names, bytes);
		if (!room)
			return -ENOMEM;
		memcpy(room, string, bytes);
	}
	*copy = room;
	return 0;
}

static struct frame nameless_frame(const uint64_t words[2])
{
	return (struct frame){
		.kind = frame_kind(words[0]),
		.flags = frame_flags(words[0]) & FRAME_GUESS,
	};
}

/* --- the frames of the stack --- */

/* The third word of a frame; 0: it has none. */
static uint64_t third_word(const uint64_t *words)
{
	return frame_word_count(words[0]) > 2 ? words[2] : 0;
}

/* The slot of the frame with @words, or an empty slot. */
static uint32_t find_slot(const struct interpreted_names *names, const uint64_t *words)
{
	const uint64_t all[3] = { words[0], words[1], third_word(words) };
	uint32_t slot = hash64_bytes(all, sizeof(all)) % INTERPRETED_NAMES_SLOTS;
	uint16_t index;

	while ((index = names->slots[slot]) &&
	       memcmp(names->stack.items[index - 1].words, all, sizeof(all)))
		slot = (slot + 1) % INTERPRETED_NAMES_SLOTS;
	return slot;
}

/* The frame's entry; NULL if it has none, for lack of memory or runtimes. */
static const struct stack_name *find_name(const struct interpreted_names *names,
					  const uint64_t *words)
{
	uint16_t index = names->slots[find_slot(names, words)];

	return index ? &names->stack.items[index - 1] : NULL;
}

/* Adds a frame to the stack; NULL if it was there, or without memory. */
static struct stack_name *add_name(struct interpreted_names *names, const uint64_t *words)
{
	const struct stack_name added = {
		.words = { words[0], words[1], third_word(words) },
		.err = -ESRCH,
		.slot = find_slot(names, words),
	};

	if (names->slots[added.slot] || stack_name_vector_push(&names->stack, added))
		return NULL;
	names->slots[added.slot] = (uint16_t)names->stack.count;
	return &names->stack.items[names->stack.count - 1];
}

/* Appends a frame of @name. */
static int add_frame(struct interpreted_names *names, const struct frame *frame)
{
	struct frame copy = *frame;
	int err = copy_string(names, frame->function, &copy.function);

	if (!err)
		err = copy_string(names, frame->file, &copy.file);
	return err ? err : named_frame_vector_push(&names->frames, copy);
}

static void set_frames(struct interpreted_names *names, struct stack_name *name,
		       const struct frame *frames, uint32_t count)
{
	name->first_frame = (uint32_t)names->frames.count;
	name->frame_count = count;
	name->err = 0;
	for (uint32_t i = 0; i < count && !name->err; i++)
		name->err = add_frame(names, &frames[i]);
	if (!count)
		name->err = -ENOENT;
}

/* --- the cache --- */

static struct name_key key_of(const struct process_runtime *runtime, const struct stack_name *name)
{
	struct name_key key = { .runtime_id = runtime->id };

	memcpy(key.words, name->words, sizeof(key.words));
	return key;
}

static bool find_cached(struct interpreted_names *names, const struct process_runtime *runtime,
			struct stack_name *name)
{
	const struct name_key key = key_of(runtime, name);
	const struct cached_name *cached = lru_cache_get(&names->cache, &key);

	if (cached)
		set_frames(names, name, cached->frames, cached->count);
	return cached;
}

static const char *move_string(const char *string, char **room)
{
	size_t bytes = string ? strlen(string) + 1 : 0;
	char *moved = *room;

	if (!string)
		return NULL;
	memcpy(moved, string, bytes);
	*room += bytes;
	return moved;
}

/* Caches a name. Without memory it is requested again. */
static void keep(struct interpreted_names *names, const struct process_runtime *runtime,
		 const struct stack_name *name, const struct frame *frames, uint32_t count)
{
	const struct name_key key = key_of(runtime, name);
	size_t bytes = sizeof(struct cached_name) + count * sizeof(frames[0]);
	struct cached_name *cached;
	char *room;

	for (uint32_t i = 0; i < count; i++)
		bytes += strlen(frames[i].function) + 1 +
			 (frames[i].file ? strlen(frames[i].file) + 1 : 0);
	cached = malloc(bytes);
	if (!cached)
		return;
	cached->count = count;
	room = (char *)(cached->frames + count);
	for (uint32_t i = 0; i < count; i++) {
		cached->frames[i] = frames[i];
		cached->frames[i].function = move_string(frames[i].function, &room);
		cached->frames[i].file = move_string(frames[i].file, &room);
	}
	if (lru_cache_put(&names->cache, &key, cached, bytes + ENTRY_BYTES))
		free(cached);
}

/* --- questions --- */

static struct frame frame_of(const uint64_t words[2], const struct interpreted_frame *found)
{
	struct frame frame = nameless_frame(words);

	frame.function = found->function;
	frame.file = found->file;
	frame.line = found->line;
	frame.column = found->column;
	frame.start_line = found->start_line;
	frame.flags |= (found->is_inlined ? FRAME_INLINED : 0) |
		       (found->is_approximate ? FRAME_APPROXIMATE : 0) |
		       (found->marks_trace ? FRAME_MARKS_TRACE : 0);
	return frame;
}

static void take_answer(struct interpreted_names *names, const struct process_runtime *runtime,
			struct stack_name *name, const struct name_answer *answer)
{
	struct frame frames[INTERPRETED_FRAMES_MAX];

	name->err = answer->err;
	if (answer->err && answer->err != -ENOENT)
		return;
	for (uint32_t i = 0; i < answer->frame_count; i++) {
		const struct interpreted_frame found =
			name_answers_frame(&names->answers, answer, i);

		frames[i] = frame_of(name->words, &found);
	}
	if (answer->object)
		keep(names, runtime, name, frames, answer->frame_count);
	set_frames(names, name, frames, answer->frame_count);
}

/*
 * Requests from @runtime the unknown frames of the stack from @first on that it may know. Returns the index to
 * continue at.
 */
static size_t ask_some(struct interpreted_names *names, struct process_runtime *runtime,
		       size_t first)
{
	uint8_t kind = process_runtime_data(runtime)->language->id->kind;
	uint32_t count = 0;
	int err = 0;

	for (; first < names->stack.count && count < NAME_QUERIES_MAX; first++) {
		const struct stack_name *name = &names->stack.items[first];

		if (frame_kind(name->words[0]) != kind || !name->err || name->err == -ENOENT)
			continue;
		names->asked[count] = (uint32_t)first;
		names->queries[count++] = (struct name_query){
			.words = { name->words[0], name->words[1], name->words[2] }
		};
	}
	if (count)
		err = process_runtime_name(runtime, names->queries, count, &names->answers);
	for (uint32_t i = 0; i < count; i++) {
		struct stack_name *name = &names->stack.items[names->asked[i]];

		if (err)
			name->err = err;
		else
			take_answer(names, runtime, name, &names->answers.answers.items[i]);
	}
	return first;
}

void interpreted_names_begin(struct interpreted_names *names, const struct runtime_set *runtimes,
			     const uint64_t *words, uint32_t word_count)
{
	uint32_t runtime_count = runtimes ? runtimes->count : 0;

	forget_stack(names);
	names->runtimes = runtimes;
	for (uint32_t i = 0; runtimes && i < word_count; i += frame_word_count(words[i])) {
		struct stack_name *name = frame_kind_is_interpreted(frame_kind(words[i])) ?
						  add_name(names, &words[i]) :
						  NULL;

		for (uint32_t j = 0; name && j < runtime_count; j++)
			if (find_cached(names, runtimes->runtimes[j], name))
				break;
	}
	/* A process usually has one runtime of a language. With several, the fingerprint decides. */
	for (uint32_t i = 0; i < runtime_count; i++)
		for (size_t next = 0; next < names->stack.count;)
			next = ask_some(names, runtimes->runtimes[i], next);
}

/* --- answers --- */

/* The language's name, from the process's runtime if it has one of this kind. */
static const char *language_name(const struct interpreted_names *names, uint8_t kind)
{
	const struct runtime_set *set = names->runtimes;
	const struct language_id *language;

	for (uint32_t i = 0; set && i < set->count; i++) {
		language = process_runtime_data(set->runtimes[i])->language->id;
		if (language->kind == kind)
			return language->name;
	}
	language = language_by_kind(kind);
	return language ? language->name : "interpreted";
}

static void put_nameless(struct interpreted_names *names, const uint64_t words[2], int err,
			 struct frame *frame)
{
	if (err == -EHOSTDOWN) {
		*frame = (struct frame){ .kind = FRAME_ERROR, .error = UNWIND_NO_ANSWER };
		return;
	}
	*frame = nameless_frame(words);
	snprintf(names->nameless, sizeof(names->nameless), "[%s: no name]",
		 language_name(names, frame->kind));
	frame->function = names->nameless;
}

int interpreted_names_put(struct interpreted_names *names, const uint64_t *words,
			  struct frame *frames, uint32_t *count)
{
	const struct stack_name *name = find_name(names, words);
	int err = name ? name->err : -ESRCH;

	if (err == -ENOENT)
		return err;
	if (err) {
		metrics_add(METRIC_FRAMES_UNNAMED, 1);
		if (err == -ESTALE)
			metrics_add(METRIC_FRAMES_GONE, 1);
		put_nameless(names, words, err, &frames[0]);
		*count = 1;
		return err;
	}
	*count = name->frame_count;
	memcpy(frames, names->frames.items + name->first_frame, *count * sizeof(*frames));
	metrics_add(METRIC_FRAMES_NAMED, *count);
	return 0;
}
