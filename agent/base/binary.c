/* SPDX-License-Identifier: Apache-2.0 */
/* Binaries: one allocation for the fields, one for the path, one for what Go says, one descriptor. */

#include "agent/base/binary.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct binary *binary_create(const struct binary *values)
{
	struct binary *binary = malloc(sizeof(*binary));
	char *path = strdup(values->path ? values->path : "");
	struct go_program *go = values->go ? malloc(sizeof(*go)) : NULL;

	if (!binary || !path || (values->go && !go)) {
		free(binary);
		free(path);
		free(go);
		return NULL;
	}
	*binary = *values;
	binary->path = path;
	if (go)
		*go = *values->go;
	binary->go = go;
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
	free((struct go_program *)binary->go);
	free(binary);
}

size_t binary_bytes(const struct binary *binary)
{
	return sizeof(*binary) + strlen(binary->path) + 1 + (binary->go ? sizeof(*binary->go) : 0);
}

const char *binary_name(const struct binary *binary)
{
	const char *slash = strrchr(binary->path, '/');

	return slash ? slash + 1 : binary->path;
}
