/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A language whose runtime is any file of one name, such as "ls". What it answers is set by the
 * test; it counts what it is asked. Locked where threads run: the counters are atomic.
 */
#ifndef AGENT_RUNTIMES_TESTS_FAKE_LANGUAGE_H
#define AGENT_RUNTIMES_TESTS_FAKE_LANGUAGE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/language.h"
#include "lib/base/text.h"

enum { FAKE_KIND = FRAME_FIRST_INTERPRETED + 7 };

struct fake_process {
	struct runtime process;
	uint64_t data[4];
	char name[FRAME_NAME_MAX_BYTES];
};

static struct {
	const char *file_name;
	struct code_range range;
	int probe_err;
	int attach_err;
	int symbolize_err;
	/** Fingerprint of the objects that exist; frames with another one are stale. */
	uint32_t fingerprint;
	uint32_t name_bytes;
	/** Number of inlined functions of each frame, in lines before its own. */
	uint32_t inlined_count;
	bool is_approximate;
	bool marks_trace;
	uint32_t probe_count;
	uint32_t release_count;
	uint32_t attach_count;
	uint32_t detach_count;
	uint32_t symbolize_count;
	/** The object that was passed to the last call. */
	uint32_t object;
	/** The third word of the last frame; 0: it had none. */
	uint64_t owner;
	/** Arguments of the last attach. */
	uint32_t pid;
	uint32_t module_count;
	uint64_t bias;
	/** The byte of the memory at address 1. */
	char byte;
	/** Processes may have more to find, and so much they have. */
	bool may_grow;
	uint64_t growth;
} fake_language;

static inline void fake_release(struct runtime_file *file)
{
	__atomic_add_fetch(&fake_language.release_count, 1, __ATOMIC_RELAXED);
	free(file);
}

static inline int fake_attach(const struct runtime_file *file, const struct attach_target *target,
			      struct runtime **process)
{
	int err = __atomic_load_n(&fake_language.attach_err, __ATOMIC_RELAXED);
	struct fake_process *created;

	__atomic_add_fetch(&fake_language.attach_count, 1, __ATOMIC_RELAXED);
	fake_language.pid = target->pid;
	fake_language.module_count = target->module_count;
	fake_language.bias = target->bias;
	if (err)
		return err;
	created = calloc(1, sizeof(*created));
	created->process.language = file->language;
	created->data[0] = target->pid;
	created->data[1] = fake_language.growth;
	created->process.may_grow = fake_language.may_grow;
	created->process.data_bytes = sizeof(created->data);
	created->process.data = created->data;
	*process = &created->process;
	return 0;
}

/* The name says which object it is, and where in it. */
static inline int fake_symbolize(struct runtime *process, struct remote_memory *memory,
				 const uint64_t *words, uint32_t *object,
				 struct interpreted_frames *frames)
{
	struct fake_process *fake = (struct fake_process *)process;
	int err;

	fake_language.object = *object;
	fake_language.owner = frame_word_count(words[0]) > 2 ? words[2] : 0;
	*object = (uint32_t)frame_address(words[0]) + 1;
	__atomic_add_fetch(&fake_language.symbolize_count, 1, __ATOMIC_RELAXED);
	if (fake_language.symbolize_err)
		return fake_language.symbolize_err;
	if ((uint32_t)words[1] != fake_language.fingerprint)
		return -ESTALE;
	err = remote_memory_read(memory, 1, &fake_language.byte, 1);
	/* In a process there is nothing at that address. */
	if (err == -ESRCH)
		return err;
	snprintf(fake->name, sizeof(fake->name), "f%llx",
		 (unsigned long long)frame_address(words[0]));
	while (strlen(fake->name) < fake_language.name_bytes)
		strcat(fake->name, "x");
	frames->count = fake_language.inlined_count + 1;
	for (uint32_t i = 0; i < frames->count; i++)
		frames->items[i] = (struct interpreted_frame){
			.function = fake->name,
			.file = "fake.src",
			.line = (uint32_t)(words[1] >> 32) + i,
			.is_inlined = i < fake_language.inlined_count,
			.is_approximate = fake_language.is_approximate,
			.marks_trace = fake_language.marks_trace,
		};
	return 0;
}

static inline void fake_detach(struct runtime *process)
{
	__atomic_add_fetch(&fake_language.detach_count, 1, __ATOMIC_RELAXED);
	free(process);
}

static const struct language_ops fake_language_ops = {
	.release = fake_release,
	.attach = fake_attach,
	.symbolize = fake_symbolize,
	.detach = fake_detach,
};

/* No row has this kind. */
static const struct language_id fake_id = {
	.kind = FAKE_KIND,
	.frames = LANGUAGE_LOOP,
	.name = "fake",
};

static const struct language language_of_fakes = {
	.id = &fake_id,
	.ops = &fake_language_ops,
};

/** As languages_probe(). */
static inline int fake_probe(uint32_t languages, const struct elf_image *image, const char *path,
			     struct runtime_file **file)
{
	struct runtime_file *found;

	(void)languages;
	(void)image;
	if (!fake_language.file_name || !text_ends_with(path, fake_language.file_name))
		return -ENOENT;
	__atomic_add_fetch(&fake_language.probe_count, 1, __ATOMIC_RELAXED);
	if (fake_language.probe_err)
		return fake_language.probe_err;
	found = calloc(1, sizeof(*found));
	found->language = &language_of_fakes;
	strcpy(found->version, "fake 1");
	found->ranges[0] = fake_language.range;
	found->range_count = 1;
	*file = found;
	return 0;
}

static inline void fake_language_init(const char *file_name)
{
	memset(&fake_language, 0, sizeof(fake_language));
	fake_language.file_name = file_name;
	fake_language.fingerprint = 77;
}

/** Two words of a frame in the object at @object. */
static inline void fake_frame(uint64_t *words, uint64_t object, uint32_t line, uint32_t fingerprint)
{
	words[0] = frame_word(FAKE_KIND, 0, object);
	words[1] = (uint64_t)line << 32 | fingerprint;
}

#endif
