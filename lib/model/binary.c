/* SPDX-License-Identifier: Apache-2.0 */
/* A binary has one descriptor and three allocations: its fields, its path, and the facts that its file states. */

#include "lib/model/binary.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct binary *binary_create(const struct binary *values)
{
	struct binary *binary = malloc(sizeof(*binary));
	char *path = strdup(values->path ? values->path : "");
	struct program_facts *facts = values->facts ? malloc(sizeof(*facts)) : NULL;

	if (!binary || !path || (values->facts && !facts)) {
		free(binary);
		free(path);
		free(facts);
		return NULL;
	}
	*binary = *values;
	binary->path = path;
	if (facts)
		*facts = *values->facts;
	binary->facts = facts;
	binary->references = 1;
	return binary;
}

uint64_t binary_identity(const struct binary *binary)
{
	return binary->executable_id ? binary->executable_id : (uintptr_t)binary;
}

struct binary *binary_ref(struct binary *binary)
{
	__atomic_add_fetch(&binary->references, 1, __ATOMIC_RELAXED);
	return binary;
}

void binary_unref(struct binary *binary)
{
	/* Release and acquire: what other holders read comes before the free. */
	if (!binary || __atomic_sub_fetch(&binary->references, 1, __ATOMIC_ACQ_REL))
		return;
	if (binary->fd >= 0)
		close(binary->fd);
	held_file_unref(binary->held);
	free(binary->path);
	free((struct program_facts *)binary->facts);
	free(binary);
}

size_t binary_bytes(const struct binary *binary)
{
	return sizeof(*binary) + strlen(binary->path) + 1 +
	       (binary->facts ? sizeof(*binary->facts) : 0);
}

const char *binary_name(const struct binary *binary)
{
	const char *slash = strrchr(binary->path, '/');

	return slash ? slash + 1 : binary->path;
}
