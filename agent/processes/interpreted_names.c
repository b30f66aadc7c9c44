/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The languages have bounded each string, and vouch that it is UTF-8; here it is bounded how much a
 * whole stack takes.
 */
#include "agent/processes/interpreted_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/metrics.h"
#include "interpreters/registry.h"

enum { CHUNK_BYTES = 16 << 10 };

_Static_assert((int)CHUNK_BYTES > (int)INTERPRETER_NAME_MAX_BYTES, "a name fits into a chunk");

struct name_chunk {
	struct name_chunk *next;
	size_t used;
	char bytes[CHUNK_BYTES];
};

void interpreted_names_deinit(struct interpreted_names *names)
{
	while (names->chunks) {
		struct name_chunk *next = names->chunks->next;

		free(names->chunks);
		names->chunks = next;
	}
}

void interpreted_names_begin(struct interpreted_names *names, const struct runtime_set *runtimes)
{
	uint64_t now_ns = runtimes && runtimes->count ? clock_monotonic_ns() : 0;

	while (names->chunks && names->chunks->next) {
		struct name_chunk *next = names->chunks->next;

		free(names->chunks);
		names->chunks = next;
	}
	if (names->chunks)
		names->chunks->used = 0;
	names->byte_count = 0;
	names->recent_count = 0;
	names->runtimes = runtimes;
	for (uint32_t i = 0; runtimes && i < runtimes->count; i++)
		process_runtime_begin_stack(runtimes->runtimes[i], now_ns);
}

/* Room for @bytes; NULL if there is none. */
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

/* -ENOMEM if there is no room; a NULL stays one. */
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

/* What the language says of the frame: borrowed until it is asked again. */
static int ask(const struct runtime_set *set, const uint64_t words[2],
	       struct interpreted_frames *frames)
{
	int err = -ESRCH;

	/* There is one of a language, but for odd programs: then the fingerprint tells. */
	for (uint32_t i = 0; set && i < set->count && err && err != -ENOENT; i++)
		if (process_runtime_data(set->runtimes[i])->interpreter->kind ==
		    frame_kind(words[0]))
			err = process_runtime_symbolize(set->runtimes[i], words, frames);
	return err;
}

static struct frame nameless_frame(const uint64_t words[2])
{
	return (struct frame){
		.kind = frame_kind(words[0]),
		.flags = frame_flags(words[0]) & FRAME_GUESS,
	};
}

static int copy_frame(struct interpreted_names *names, const struct interpreted_frame *found,
		      struct frame *frame)
{
	int err = copy_string(names, found->function, &frame->function);

	if (!err)
		err = copy_string(names, found->file, &frame->file);
	if (err)
		return err;
	frame->line = found->line;
	frame->flags |= (found->is_inlined ? FRAME_INLINED : 0) |
			(found->is_approximate ? FRAME_APPROXIMATE : 0) |
			(found->mounts_virtual_thread ? FRAME_VIRTUAL_THREAD : 0);
	return 0;
}

static int find_frames(struct interpreted_names *names, const uint64_t words[2],
		       struct frame *frames, uint32_t *count)
{
	struct interpreted_frames found;
	int err = ask(names->runtimes, words, &found);

	if (err)
		return err;
	for (uint32_t i = 0; i < found.count && !err; i++) {
		frames[i] = nameless_frame(words);
		err = copy_frame(names, &found.items[i], &frames[i]);
	}
	if (!err)
		*count = found.count;
	return err;
}

/* The language's name; that of the process's runtime, if it has one of the kind. */
static const char *language_name(const struct interpreted_names *names, uint8_t kind)
{
	const struct runtime_set *set = names->runtimes;
	const struct interpreter *interpreter;

	for (uint32_t i = 0; set && i < set->count; i++) {
		interpreter = process_runtime_data(set->runtimes[i])->interpreter;
		if (interpreter->kind == kind)
			return interpreter->name;
	}
	for (uint32_t i = 0; (interpreter = interpreter_at(i)); i++)
		if (interpreter->kind == kind)
			return interpreter->name;
	return "interpreted";
}

static void put_nameless(struct interpreted_names *names, const uint64_t words[2],
			 struct frame *frame)
{
	*frame = nameless_frame(words);
	snprintf(names->nameless, sizeof(names->nameless), "[%s: no name]",
		 language_name(names, frame->kind));
	frame->function = names->nameless;
}

static const struct recent_name *find_recent(const struct interpreted_names *names,
					     const uint64_t words[2])
{
	uint32_t count = names->recent_count < INTERPRETED_NAMES_RECENT ? names->recent_count :
									  INTERPRETED_NAMES_RECENT;

	for (uint32_t i = 0; i < count; i++)
		if (names->recent[i].words[0] == words[0] && names->recent[i].words[1] == words[1])
			return &names->recent[i];
	return NULL;
}

int interpreted_names_put(struct interpreted_names *names, const uint64_t words[2],
			  struct frame *frames, uint32_t *count)
{
	const struct recent_name *recent = find_recent(names, words);
	int err;

	if (recent) {
		*count = recent->count;
		memcpy(frames, recent->frames, *count * sizeof(*frames));
		metrics_add(METRIC_FRAMES_NAMED, *count);
		return 0;
	}
	err = find_frames(names, words, frames, count);
	if (err == -ENOENT)
		return err;
	if (err) {
		metrics_add(METRIC_FRAMES_UNNAMED, 1);
		if (err == -ESTALE)
			metrics_add(METRIC_FRAMES_GONE, 1);
		put_nameless(names, words, &frames[0]);
		*count = 1;
		return err;
	}
	metrics_add(METRIC_FRAMES_NAMED, *count);
	names->recent[names->recent_count++ % INTERPRETED_NAMES_RECENT] = (struct recent_name){
		.words = { words[0], words[1] },
		.frames = frames,
		.count = *count,
	};
	return 0;
}
