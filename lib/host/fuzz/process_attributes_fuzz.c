/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of /proc/PID/cgroup, /proc/PID/environ, /proc/PID/cmdline, /proc/PID/comm and /proc/PID/task/PID/stat, and of
 * /etc/passwd, the same bytes for all: what comes out fits and ends, names of containers and units are printable, and no byte
 * behind the text is looked at.
 *
 * covers: control_group.c loaded_program.c process_environment.c command_line.c user_names.c
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/host/command_line.h"
#include "lib/host/control_group.h"
#include "lib/host/loaded_program.h"
#include "lib/host/proc_info.h"
#include "lib/host/process_environment.h"
#include "lib/host/user_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/process_attributes_fuzz_XXXXXX";
static bool is_made;

static const char *const folders[] = { "1", "1/task", "1/task/1" };
static const char *const files[] = { "1/cgroup", "1/environ", "1/cmdline",
				     "1/comm",	 "passwd",    "1/task/1/stat" };

enum {
	FOLDER_COUNT = sizeof(folders) / sizeof(folders[0]),
	FILE_COUNT = sizeof(files) / sizeof(files[0]),
	PATH_BYTES = sizeof(root) + 32,
};

static void make_path(const char *name, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%s/%s", root, name);
}

static void remove_root(void)
{
	char path[PATH_BYTES];

	for (int i = 0; i < FILE_COUNT; i++) {
		make_path(files[i], path);
		unlink(path);
	}
	for (int i = FOLDER_COUNT; i-- > 0;) {
		make_path(folders[i], path);
		rmdir(path);
	}
	rmdir(root);
}

static void make_root(void)
{
	char path[PATH_BYTES];

	if (is_made)
		return;
	if (!mkdtemp(root))
		abort();
	is_made = true;
	for (int i = 0; i < FOLDER_COUNT; i++) {
		make_path(folders[i], path);
		mkdir(path, 0700);
	}
	atexit(remove_root);
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void check_printable(const char *text, size_t capacity)
{
	if (strnlen(text, capacity) == capacity)
		abort();
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			abort();
}

static void check_control_group(const char *text, size_t size)
{
	struct control_group group, read;
	char id[CONTAINER_ID_MAX_BYTES];

	control_group_parse_mounts(text, size, id);
	if (*id && strnlen(id, sizeof(id)) != 64)
		abort();
	control_group_parse(text, size, &group);
	check_printable(group.container_id, sizeof(group.container_id));
	check_printable(group.unit, sizeof(group.unit));
	control_group_read(root, 1, &read);
	if (size < 4096 && (strcmp(group.container_id, read.container_id) != 0 ||
			    strcmp(group.unit, read.unit) != 0))
		abort();
}

static void check_command_line(const char *text, size_t size)
{
	char line[COMMAND_LINE_MAX_BYTES], read[COMMAND_LINE_MAX_BYTES];

	command_line_parse(text, size, line);
	if (strnlen(line, sizeof(line)) == sizeof(line))
		abort();
	command_line_read(root, 1, read);
	if (size && strcmp(line, read) != 0)
		abort();
}

/* The name and the parent may be anything. */
static void check_process(void)
{
	char comm[PROC_COMM_MAX_BYTES];
	pid_t parent;

	if (!proc_comm(root, 1, comm) && strnlen(comm, sizeof(comm)) == sizeof(comm))
		abort();
	if (!proc_parent(root, 1, &parent) && parent < 0)
		abort();
}

static void check_user_names(void)
{
	char path[PATH_BYTES], name[USER_NAME_MAX_BYTES];
	struct user_names names;

	make_path("passwd", path);
	user_names_init(&names, path);
	for (uid_t uid = 0; uid < 3; uid++) {
		user_name_read(&names, uid, 0, name);
		if (strnlen(name, sizeof(name)) == sizeof(name))
			abort();
	}
	user_names_deinit(&names);
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
	for (int i = 0; i < FILE_COUNT; i++) {
		char path[PATH_BYTES];

		make_path(files[i], path);
		write_file(path, data, size);
	}
	check_control_group(text, size);
	check_service_name(text, size);
	check_command_line(text, size);
	check_process();
	check_user_names();
	check_loaded_program(text, size);
	free(text);
	return 0;
}
