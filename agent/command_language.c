// SPDX-License-Identifier: Apache-2.0
#include "agent/command_language.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/model/languages.h"

enum {
	/* The kernel reads no more of a first line either (BINPRM_BUF_SIZE). */
	FIRST_LINE_BYTES = 256,
};

/* Programs that are not called as their language. */
static const struct {
	const char *program;
	const char *language;
} other_names[] = { { "node", "javascript" }, { "npm", "javascript" }, { "npx", "javascript" } };

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "python3.11" begins with the name of a language. */
static uint32_t languages_of_program(const char *path)
{
	const char *name = last_part(path), *language = name;

	for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++) {
		if (text_starts_with(name, other_names[i].program))
			language = other_names[i].language;
	}
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++) {
		const char *one = language_ids[i].name, *rest = language + strlen(one);

		/* No letter follows: "javac" is a program of Java as well, but "perlin" is none of Perl. */
		if (text_starts_with(language, one) &&
		    (!*rest || strchr("0123456789.-", *rest) || !strcmp(rest, "c")))
			return 1U << i;
	}
	return 0;
}

static int open_executable(const char *path)
{
	struct stat status;
	int fd = access(path, X_OK) ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && (fstat(fd, &status) || !S_ISREG(status.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Opens the file that execvp() would execute; -1: none. */
static int open_command(const char *command, const char *path)
{
	char file[PATH_MAX];

	if (strchr(command, '/'))
		return open_executable(command);
	while (path && *path) {
		size_t length = strcspn(path, ":");
		int fd;

		snprintf(file, sizeof(file), "%.*s/%s", (int)length, path, command);
		fd = open_executable(file);
		if (fd >= 0)
			return fd;
		path += length + (path[length] == ':');
	}
	return -1;
}

/* The program of a first line such as `#!/usr/bin/python3` or `#!/usr/bin/env -S node --flag`. */
static uint32_t languages_of_line(char *line)
{
	char *rest = line, *word = strsep(&rest, " \t");

	while (word && !*word)
		word = strsep(&rest, " \t");
	if (!word)
		return 0;
	if (strcmp(last_part(word), "env"))
		return languages_of_program(word);
	while ((word = strsep(&rest, " \t"))) {
		/* Options, and variables that are set. */
		if (*word && *word != '-' && !strchr(word, '='))
			return languages_of_program(word);
	}
	return 0;
}

uint32_t command_languages(const char *command, const char *path)
{
	uint32_t languages = languages_of_program(command);
	_cleanup_(close_fd) int fd = languages ? -1 : open_command(command, path);
	char line[FIRST_LINE_BYTES + 1];
	ssize_t size = fd < 0 ? -1 : pread(fd, line, FIRST_LINE_BYTES, 0);

	if (size < 2 || memcmp(line, "#!", 2))
		return languages;
	line[size] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return languages_of_line(line + 2);
}
