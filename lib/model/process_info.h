/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What is told of a process beside its samples: the attributes that outputs and backends group and
 * filter by. Read once, when the agent learns of the process.
 */
#ifndef LIB_MODEL_PROCESS_INFO_H
#define LIB_MODEL_PROCESS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/attribute.h"

enum {
	PROCESS_ATTRIBUTES_MAX = 16,
};

/**
 * Immutable after process_info_create(), one allocation, shared between threads by reference count
 * (atomic). Texts come from the process and may hold any byte but NUL; "" where nothing is known.
 */
struct process_info {
	uint32_t pid;
	unsigned int references;
	/** As the process sees it, without " (deleted)". */
	const char *executable_path;
	/** 64 hexadecimal digits or what else names the container in the process's cgroup. */
	const char *container_id;
	/** The machine it runs on, of samples that others sent; "": this one. */
	const char *host_name;
	/** As the process's environment has it (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES). */
	const char *service_name;
	/** What languages and others say of it, no text of them empty. */
	const struct attribute *attributes;
	uint32_t attribute_count;
	/** The size of all texts and keys with their NULs. process_info_create() sets it, and the hash. */
	uint32_t text_bytes;
	uint64_t hash;
};

/**
 * Copies @values, all but the last two, with one reference; its texts may be NULL, and attributes without a
 * text are left out. NULL without memory, and with more than PROCESS_ATTRIBUTES_MAX attributes.
 */
struct process_info *process_info_create(const struct process_info *values);
struct process_info *process_info_ref(struct process_info *info);
/** Takes NULL. */
void process_info_unref(struct process_info *info);

/** Whether the pids and all texts are equal; takes NULL, which equals NULL. */
bool process_info_equal(const struct process_info *a, const struct process_info *b);

/** What it takes in memory. */
static inline size_t process_info_bytes(const struct process_info *info)
{
	return sizeof(*info) + info->attribute_count * sizeof(*info->attributes) + info->text_bytes;
}

/** The text of the attribute @key; "" if it has none. */
static inline const char *process_info_attribute(const struct process_info *info, const char *key)
{
	return attribute_text(info->attributes, info->attribute_count, key);
}

/** The part of the executable's path behind the last slash; "" if the path is not known. */
const char *process_info_executable_name(const struct process_info *info);

#endif
