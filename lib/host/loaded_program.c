// SPDX-License-Identifier: Apache-2.0
#include "lib/host/loaded_program.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

enum {
	COMMAND_MAX_BYTES = 8192,
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool is_dynamic_loader(const char *path)
{
	const char *name = last_part(path);

	return text_starts_with(name, "ld-linux") || text_starts_with(name, "ld-musl-") ||
	       text_starts_with(name, "ld.so") || text_starts_with(name, "ld64.so") ||
	       (text_starts_with(name, "ld-") && text_ends_with(name, ".so"));
}

/* Whether the next argument is the value of the option. */
static bool has_value(const char *option)
{
	static const char *const options[] = {
		"library-path",		"inhibit-rpath",    "audit", "preload", "argv0",
		"glibc-hwcaps-prepend", "glibc-hwcaps-mask"
	};
	const char *name = option + strspn(option, "-");

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (!strcmp(name, options[i]))
			return true;
	}
	return false;
}

bool loaded_program_parse(const char *arguments, size_t size, char path[LOADED_PROGRAM_MAX_BYTES])
{
	const char *end = arguments + size, *at = arguments;
	bool is_first = true, is_value = false, is_behind_options = false;

	/* An argument that is cut is dropped. */
	for (const char *stop; (stop = memchr(at, '\0', (size_t)(end - at))); at = stop + 1) {
		bool is_option = *at == '-' && !is_behind_options;

		if (is_first || is_value) {
			is_first = is_value = false;
		} else if (!strcmp(at, "--") && !is_behind_options) {
			is_behind_options = true;
		} else if (is_option) {
			is_value = has_value(at);
		} else {
			if (!*last_part(at) || strlen(at) >= LOADED_PROGRAM_MAX_BYTES)
				return false;
			strcpy(path, at);
			return true;
		}
	}
	return false;
}

bool loaded_program_read(const char *proc_root, pid_t pid, char path[LOADED_PROGRAM_MAX_BYTES])
{
	char file[PATH_MAX], text[COMMAND_MAX_BYTES];
	_cleanup_(close_fd) int fd = -1;
	ssize_t size;

	snprintf(file, sizeof(file), "%s/%d/cmdline", proc_root, pid);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, sizeof(text));
	return size > 0 && loaded_program_parse(text, (size_t)size, path);
}
