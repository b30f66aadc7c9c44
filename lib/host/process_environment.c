/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel reads /proc/PID/environ from the process's memory, from anonymous pages only. So neither a file
 * system of the process nor its page fault handler can delay us.
 */
#include "lib/host/process_environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/host/proc_info.h"

enum {
	/* Most environments are smaller, and need no allocation. */
	COMMON_BYTES = 8 << 10,
};

static const char service_variable[] = "OTEL_SERVICE_NAME=";
static const char attributes_variable[] = "OTEL_RESOURCE_ATTRIBUTES=";
static const char service_key[] = "service.name";

/* The value of @variable, which ends in a NUL, if it begins with @name (with its '='); otherwise NULL. */
static const char *value_of(const char *variable, const char *name)
{
	size_t length = strlen(name);

	return strncmp(variable, name, length) ? NULL : variable + length;
}

/* Copies as much as there is room for, not cut within a character of UTF-8. */
static void copy_name(const char *text, size_t length, char name[SERVICE_NAME_MAX_BYTES])
{
	length = text_cut_length(text, length, SERVICE_NAME_MAX_BYTES - 1);
	memcpy(name, text, length);
	name[length] = '\0';
}

/*
 * Decodes the text into @name; false if it is not encoded correctly, and then @name is untouched. At most three
 * times the size of @name is read.
 */
static bool decode(const char *from, const char *end, char name[SERVICE_NAME_MAX_BYTES])
{
	/* Has room for one more character of UTF-8, which shows whether a character was cut. */
	char decoded[SERVICE_NAME_MAX_BYTES + 4];
	size_t length;

	if (!text_decode_percents(from, end, decoded, sizeof(decoded), &length))
		return false;
	copy_name(decoded, length, name);
	return true;
}

/* The last service.name in the list counts. */
static void take_attributes(const char *list, char name[SERVICE_NAME_MAX_BYTES])
{
	while (*list) {
		const char *end = strchrnul(list, ',');
		const char *equals = memchr(list, '=', end - list);

		if (equals) {
			const char *key = list, *key_end = equals;
			const char *value = equals + 1, *value_end = end;

			text_trim(&key, &key_end);
			text_trim(&value, &value_end);
			if (key_end - key == sizeof(service_key) - 1 &&
			    !memcmp(key, service_key, sizeof(service_key) - 1))
				decode(value, value_end, name);
		}
		list = *end ? end + 1 : end;
	}
}

void service_name_parse(const char *text, size_t size, char name[SERVICE_NAME_MAX_BYTES])
{
	const char *end = text + size, *attributes = NULL, *next;

	name[0] = '\0';
	for (; text < end && (next = memchr(text, '\0', end - text)); text = next + 1) {
		const char *service = value_of(text, service_variable);

		/* An empty value is as good as none. */
		if (service && *service) {
			copy_name(service, strlen(service), name);
			return;
		}
		if (!attributes)
			attributes = value_of(text, attributes_variable);
	}
	if (attributes)
		take_attributes(attributes, name);
}

/* Reads at most @capacity bytes and returns their number, 0 if there are none. */
static size_t read_all(int fd, char *text, size_t capacity)
{
	size_t size = 0;

	while (size < capacity) {
		ssize_t count = read(fd, text + size, capacity - size);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break;
		size += count;
		/* A short read is the end of the file. */
		if (size < capacity)
			break;
	}
	return size;
}

/* -ESRCH if the file is empty, as for a leader that has exited. */
static int read_file(void *name, pid_t tid, const char *path)
{
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(free_pointer) char *large = NULL;
	char common[COMMON_BYTES], *text = common;
	size_t size;

	(void)tid;
	if (fd < 0)
		return -ESRCH;
	size = read_all(fd, common, sizeof(common));
	if (size == sizeof(common) && (large = malloc(ENVIRONMENT_MAX_BYTES))) {
		memcpy(large, common, size);
		size += read_all(fd, large + size, ENVIRONMENT_MAX_BYTES - size);
		text = large;
	}
	service_name_parse(text, size, name);
	return size ? 0 : -ESRCH;
}

void service_name_read(const char *proc_root, pid_t pid, char name[SERVICE_NAME_MAX_BYTES])
{
	name[0] = '\0';
	proc_try_threads(proc_root, pid, "environ", read_file, name);
}
