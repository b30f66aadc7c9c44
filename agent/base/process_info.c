/* SPDX-License-Identifier: Apache-2.0 */
/* The texts stand behind the struct; what is in them is only copied. */

#include "agent/base/process_info.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/hash128.h"

/* Where the struct has its texts, in the order in which they stand behind it. */
static const size_t text_offsets[] = {
	offsetof(struct process_info, executable_path),
	offsetof(struct process_info, container_id),
	offsetof(struct process_info, host_name),
	offsetof(struct process_info, service_name),
	offsetof(struct process_info, runtime_name),
	offsetof(struct process_info, runtime_version),
	offsetof(struct process_info, go_module_path),
	offsetof(struct process_info, go_module_version),
};

enum { TEXT_COUNT = sizeof(text_offsets) / sizeof(text_offsets[0]) };

static const char *text_of(const struct process_info *info, size_t index)
{
	const char *text;

	memcpy(&text, (const char *)info + text_offsets[index], sizeof(text));
	return text ? text : "";
}

static const char *texts_of(const struct process_info *info)
{
	return (const char *)(info + 1);
}

struct process_info *process_info_create(const struct process_info *values)
{
	struct process_info *info;
	size_t text_bytes = 0;
	char *texts;

	for (size_t i = 0; i < TEXT_COUNT; i++)
		text_bytes += strlen(text_of(values, i)) + 1;
	info = malloc(sizeof(*info) + text_bytes);
	if (!info)
		return NULL;
	*info = (struct process_info){
		.pid = values->pid,
		.references = 1,
		.text_bytes = (uint32_t)text_bytes,
	};
	texts = (char *)(info + 1);
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		size_t bytes = strlen(text_of(values, i)) + 1;

		memcpy(texts, text_of(values, i), bytes);
		memcpy((char *)info + text_offsets[i], &texts, sizeof(texts));
		texts += bytes;
	}
	info->hash = hash64_bytes(texts_of(info), text_bytes);
	return info;
}

struct process_info *process_info_ref(struct process_info *info)
{
	__atomic_add_fetch(&info->references, 1, __ATOMIC_RELAXED);
	return info;
}

void process_info_unref(struct process_info *info)
{
	/* Release and acquire: what other holders read comes before the free. */
	if (info && !__atomic_sub_fetch(&info->references, 1, __ATOMIC_ACQ_REL))
		free(info);
}

bool process_info_equal(const struct process_info *a, const struct process_info *b)
{
	if (a == b)
		return true;
	/* Texts hold no NUL, so the bytes of all of them are equal if each one is. */
	return a && b && a->pid == b->pid && a->hash == b->hash && a->text_bytes == b->text_bytes &&
	       !memcmp(texts_of(a), texts_of(b), a->text_bytes);
}

const char *process_info_executable_name(const struct process_info *info)
{
	const char *slash = strrchr(info->executable_path, '/');

	return slash ? slash + 1 : info->executable_path;
}
