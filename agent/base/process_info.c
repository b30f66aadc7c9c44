/* SPDX-License-Identifier: Apache-2.0 */
/* The texts stand behind the struct; what is in them is only copied. */

#include "agent/base/process_info.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static size_t text_bytes(const char *text)
{
	return text ? strlen(text) + 1 : 1;
}

/* Copies @text to *@to and moves that behind it. */
static const char *copy_text(char **to, const char *text)
{
	char *copy = memcpy(*to, text ? text : "", text_bytes(text));

	*to += text_bytes(text);
	return copy;
}

struct process_info *process_info_create(const struct process_info *values)
{
	struct process_info *info =
		malloc(sizeof(*info) + text_bytes(values->executable_path) +
		       text_bytes(values->container_id) + text_bytes(values->service_name));
	char *texts;

	if (!info)
		return NULL;
	texts = (char *)(info + 1);
	info->pid = values->pid;
	info->references = 1;
	info->executable_path = copy_text(&texts, values->executable_path);
	info->container_id = copy_text(&texts, values->container_id);
	info->service_name = copy_text(&texts, values->service_name);
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

const char *process_info_executable_name(const struct process_info *info)
{
	const char *slash = strrchr(info->executable_path, '/');

	return slash ? slash + 1 : info->executable_path;
}
