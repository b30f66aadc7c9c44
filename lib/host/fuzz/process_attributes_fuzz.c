/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of /proc/PID/cgroup and of /proc/PID/environ, the same bytes for both: what comes out fits
 * and ends, a container's id is printable, and no byte behind the text is looked at.
 *
 * covers: container_id.c loaded_program.c process_environment.c
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/host/container_id.h"
#include "lib/host/loaded_program.h"
#include "lib/host/process_environment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/process_attributes_fuzz_XXXXXX";
static char folder[sizeof(root) + 8], cgroup_path[sizeof(root) + 16],
	environ_path[sizeof(root) + 16];

static void remove_root(void)
{
	unlink(cgroup_path);
	unlink(environ_path);
	rmdir(folder);
	rmdir(root);
}

static void make_root(void)
{
	if (folder[0])
		return;
	if (!mkdtemp(root))
		abort();
	snprintf(folder, sizeof(folder), "%s/1", root);
	snprintf(cgroup_path, sizeof(cgroup_path), "%s/cgroup", folder);
	snprintf(environ_path, sizeof(environ_path), "%s/environ", folder);
	mkdir(folder, 0700);
	atexit(remove_root);
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void check_container_id(const char *text, size_t size)
{
	char id[CONTAINER_ID_MAX_BYTES], read[CONTAINER_ID_MAX_BYTES];

	container_id_parse_mounts(text, size, id);
	if (*id && strnlen(id, sizeof(id)) != 64)
		abort();
	container_id_parse(text, size, id);
	if (strnlen(id, sizeof(id)) == sizeof(id))
		abort();
	for (const char *c = id; *c; c++)
		if (*c <= ' ' || *c > '~')
			abort();
	container_id_read(root, 1, read);
	if (size < 4096 && strcmp(id, read) != 0)
		abort();
}

static void check_loaded_program(const char *text, size_t size)
{
	char name[LOADED_PROGRAM_MAX_BYTES];

	if (loaded_program_parse(text, size, name) &&
	    (!*name || strnlen(name, sizeof(name)) == sizeof(name)))
		abort();
}

static void check_service_name(const char *text, size_t size)
{
	char name[SERVICE_NAME_MAX_BYTES], read[SERVICE_NAME_MAX_BYTES];

	service_name_parse(text, size, name);
	if (strnlen(name, sizeof(name)) == sizeof(name))
		abort();
	service_name_read(root, 1, read);
	if (size <= ENVIRONMENT_MAX_BYTES && strcmp(name, read) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of the exact size, so that the sanitizer detects reads behind it. */
	char *text = malloc(size ? size : 1);

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	make_root();
	write_file(cgroup_path, data, size);
	write_file(environ_path, data, size);
	check_container_id(text, size);
	check_service_name(text, size);
	check_loaded_program(text, size);
	free(text);
	return 0;
}
