// SPDX-License-Identifier: Apache-2.0
#include "lib/host/container_names.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

enum {
	ID_DIGITS = 64,
	FILE_MAX_BYTES = 8 << 20,
	NAME_MAX_BYTES = 256,
};

struct found {
	char id[CONTAINER_ID_MAX_BYTES];
	uint32_t count;
};

/* @id: ID_DIGITS hexadecimal digits. */
static bool is_id(const char *id)
{
	for (int i = 0; i < ID_DIGITS; i++) {
		if (text_hex_value(id[i]) < 0)
			return false;
	}
	return true;
}

static void add(struct found *found, const char *id)
{
	if (found->count && !strncmp(found->id, id, ID_DIGITS))
		return;
	memcpy(found->id, id, ID_DIGITS);
	found->id[ID_DIGITS] = '\0';
	found->count++;
}

/* The text of a file; NULL if it cannot be read. The caller frees it. */
static char *read_text(const char *path)
{
	_cleanup_(close_file) FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	text = malloc(FILE_MAX_BYTES + 1);
	if (text)
		size = fread(text, 1, FILE_MAX_BYTES, file);
	if (text)
		text[size] = '\0';
	return text;
}

/* --- engines --- */

/* PATH/ID/config.v2.json */
static void look_at_docker(const char *path, const char *name, struct found *found)
{
	_cleanup_(free_pointer) char *text = read_text(path);
	char wanted[NAME_MAX_BYTES + 16];
	const char *slash = strrchr(path, '/');

	snprintf(wanted, sizeof(wanted), "\"Name\":\"/%s\"", name);
	if (text && slash - path > ID_DIGITS && is_id(slash - ID_DIGITS) && strstr(text, wanted))
		add(found, slash - ID_DIGITS);
}

/* [{"id":"ID","names":["NAME"],...},...], the fields in this order. */
static void look_at_storage(const char *path, const char *name, struct found *found)
{
	static const char id_field[] = "\"id\":\"";
	_cleanup_(free_pointer) char *text = read_text(path);
	char wanted[NAME_MAX_BYTES + 4];
	char *at = text;

	snprintf(wanted, sizeof(wanted), "\"%s\"", name);
	while (at && (at = strstr(at, id_field))) {
		char *id = at + strlen(id_field), *next = strstr(id, id_field);
		char *names, *end, *match;

		at = next;
		if (strlen(id) < ID_DIGITS || !is_id(id))
			continue;
		names = strstr(id, "\"names\":[");
		end = names ? strchr(names, ']') : NULL;
		match = names ? strstr(names, wanted) : NULL;
		if (end && match && match < end && (!next || names < next))
			add(found, id);
	}
}

/* A file with the name of the container, and its id in it. */
static void look_at_nerdctl(const char *path, const char *name, struct found *found)
{
	_cleanup_(free_pointer) char *text = NULL;

	if (strcmp(strrchr(path, '/') + 1, name))
		return;
	text = read_text(path);
	if (text && strlen(text) >= ID_DIGITS && is_id(text))
		add(found, text);
}

/* POD_NAMESPACE_CONTAINER-ID.log */
static void look_at_kubernetes(const char *path, const char *name, struct found *found)
{
	const char *file = strrchr(path, '/') + 1, *id, *container, *pod_end = strchr(file, '_');
	size_t length = strlen(file), name_length = strlen(name);

	if (!text_ends_with(file, ".log") || length < ID_DIGITS + strlen("-.log") || !pod_end)
		return;
	id = file + length - strlen(".log") - ID_DIGITS;
	container = strchr(pod_end + 1, '_');
	if (!is_id(id) || !container || container > id - 2)
		return;
	container++;
	if (((size_t)(pod_end - file) == name_length && !strncmp(file, name, name_length)) ||
	    ((size_t)(id - 1 - container) == name_length && !strncmp(container, name, name_length)))
		add(found, id);
}

static const struct {
	const char *pattern;
	void (*look)(const char *path, const char *name, struct found *found);
} engines[] = {
	{ "/var/lib/docker/containers/*/config.v2.json", look_at_docker },
	{ "/var/lib/containers/storage/*-containers/containers.json", look_at_storage },
	{ "/home/*/.local/share/containers/storage/*-containers/containers.json", look_at_storage },
	{ "/var/lib/nerdctl/*/names/*/*", look_at_nerdctl },
	{ "/var/log/containers/*.log", look_at_kubernetes },
};

int container_names_find(const char *root, const char *name, char id[CONTAINER_ID_MAX_BYTES])
{
	struct found found = { 0 };

	if (!*name || strlen(name) >= NAME_MAX_BYTES)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		char pattern[PATH_MAX];
		glob_t paths;

		snprintf(pattern, sizeof(pattern), "%s%s", root, engines[i].pattern);
		if (glob(pattern, 0, NULL, &paths))
			continue;
		for (size_t j = 0; j < paths.gl_pathc; j++)
			engines[i].look(paths.gl_pathv[j], name, &found);
		globfree(&paths);
	}
	if (!found.count)
		return -ENOENT;
	if (found.count > 1)
		return -EEXIST;
	memcpy(id, found.id, sizeof(found.id));
	return 0;
}
