/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Process attributes, by which outputs and backends group and filter samples. They are read once, when the
 * agent learns of the process.
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
	/** 0: not known, or outside of the agent's pid namespace. */
	uint32_t parent_pid;
	/** Path as the process sees it, without " (deleted)". */
	const char *executable_path;
	/** 64 hexadecimal digits or another name of the container, from the process's cgroup. */
	const char *container_id;
	/**
	 * Name of the machine that the process runs on, for samples received from other machines; "": this
	 * machine.
	 */
	const char *host_name;
	/** Service name from the process's environment (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES). */
	const char *service_name;
	/** Cut; it may hold secrets, so outputs have it only on request. */
	const char *command_line;
	/** Name of the effective user, or the user's number. */
	const char *user_name;
	/** systemd unit, such as "nginx.service". */
	const char *unit;
	/** Name of the parent at that time. */
	const char *parent_comm;
	/** Attributes set by languages and others; no text is empty. */
	const struct attribute *attributes;
	uint32_t attribute_count;
	/** Size of all texts and keys with their NULs. process_info_create() sets this field and the hash. */
	uint32_t text_bytes;
	uint64_t hash;
};

/**
 * Copies all of @values but its last two fields, with one reference. Its texts may be NULL; attributes without
 * a text are left out. NULL without memory, and with more than PROCESS_ATTRIBUTES_MAX attributes.
 */
struct process_info *process_info_create(const struct process_info *values);
struct process_info *process_info_ref(struct process_info *info);
/** Takes NULL. */
void process_info_unref(struct process_info *info);

/** Whether the pids, the parents and all texts are equal; takes NULL, which equals NULL. */
bool process_info_equal(const struct process_info *a, const struct process_info *b);

/** Bytes of memory that the struct takes. */
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
