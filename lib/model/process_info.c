/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes follow the struct, and all texts follow these. Their content is only copied. */

#include "lib/model/process_info.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash128.h"

/* Offsets of the struct's text fields, in the order of the texts behind it. */
static const size_t text_offsets[] = {
	offsetof(struct process_info, executable_path),
	offsetof(struct process_info, container_id),
	offsetof(struct process_info, host_name),
	offsetof(struct process_info, service_name),
	offsetof(struct process_info, command_line),
	offsetof(struct process_info, user_name),
	offsetof(struct process_info, unit),
	offsetof(struct process_info, parent_comm),
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
	return (const char *)(info + 1) + info->attribute_count * sizeof(*info->attributes);
}

static bool is_given(const struct attribute *attribute)
{
	return attribute->text && *attribute->text;
}

/* Bytes of all texts, and how many attributes there are. */
static size_t measure(const struct process_info *values, uint32_t *attribute_count)
{
	size_t bytes = 0;

	*attribute_count = 0;
	for (size_t i = 0; i < TEXT_COUNT; i++)
		bytes += strlen(text_of(values, i)) + 1;
	for (uint32_t i = 0; i < values->attribute_count; i++) {
		const struct attribute *attribute = &values->attributes[i];

		if (!is_given(attribute))
			continue;
		bytes += strlen(attribute->key) + 1 + strlen(attribute->text) + 1;
		++*attribute_count;
	}
	return bytes;
}

/* Copies @text to *@at and moves *@at behind it. */
static const char *put_text(char **at, const char *text)
{
	size_t bytes = strlen(text) + 1;
	const char *copy = memcpy(*at, text, bytes);

	*at += bytes;
	return copy;
}

static void put_attributes(const struct process_info *values, struct attribute *attributes,
			   char **at)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < values->attribute_count; i++) {
		if (!is_given(&values->attributes[i]))
			continue;
		attributes[count].key = put_text(at, values->attributes[i].key);
		attributes[count++].text = put_text(at, values->attributes[i].text);
	}
}

struct process_info *process_info_create(const struct process_info *values)
{
	struct process_info *info;
	struct attribute *attributes;
	uint32_t attribute_count;
	size_t text_bytes = measure(values, &attribute_count);
	char *texts;

	if (attribute_count > PROCESS_ATTRIBUTES_MAX)
		return NULL;
	info = malloc(sizeof(*info) + attribute_count * sizeof(*attributes) + text_bytes);
	if (!info)
		return NULL;
	attributes = (struct attribute *)(info + 1);
	*info = (struct process_info){
		.pid = values->pid,
		.references = 1,
		.parent_pid = values->parent_pid,
		.attributes = attributes,
		.attribute_count = attribute_count,
		.text_bytes = (uint32_t)text_bytes,
	};
	texts = (char *)(attributes + attribute_count);
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		const char *copy = put_text(&texts, text_of(values, i));

		memcpy((char *)info + text_offsets[i], &copy, sizeof(copy));
	}
	put_attributes(values, attributes, &texts);
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
	/* Texts hold no NUL, so all bytes are equal exactly if each text is equal. */
	return a && b && a->pid == b->pid && a->parent_pid == b->parent_pid && a->hash == b->hash &&
	       a->text_bytes == b->text_bytes && !memcmp(texts_of(a), texts_of(b), a->text_bytes);
}

const char *process_info_executable_name(const struct process_info *info)
{
	const char *slash = strrchr(info->executable_path, '/');

	return slash ? slash + 1 : info->executable_path;
}
