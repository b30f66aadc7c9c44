/* SPDX-License-Identifier: Apache-2.0 */
/* The file belongs to root, but is bounded as if it did not. */
#include "lib/host/user_names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/host/line_reader.h"

enum {
	/* The rest of a larger file is ignored. */
	FILE_MAX_BYTES = 4 << 20,
};

#define FRESH_NS (10 * NS_PER_SECOND)

void user_names_init(struct user_names *names, const char *path)
{
	*names = (struct user_names){ .path = path };
}

static void forget(struct user_names *names)
{
	hash_map_deinit(&names->offsets);
	text_builder_clear(&names->texts);
}

void user_names_deinit(struct user_names *names)
{
	hash_map_deinit(&names->offsets);
	text_builder_deinit(&names->texts);
}

/* "name:password:uid:..." (passwd(5)). The first of several names counts. */
static int take_line(void *context, const char *line, size_t length)
{
	struct user_names *names = context;
	const char *end = line + length, *colon = memchr(line, ':', length), *uid;
	char number[16] = "";
	uint64_t known;
	char *digits_end;
	unsigned long value;

	if (!colon || colon == line || colon - line >= USER_NAME_MAX_BYTES || *line == '#')
		return 0;
	uid = memchr(colon + 1, ':', end - colon - 1);
	if (!uid)
		return 0;
	for (size_t i = 0; i < sizeof(number) - 1 && ++uid < end && *uid != ':'; i++)
		number[i] = *uid;
	value = strtoul(number, &digits_end, 10);
	if (digits_end == number || *digits_end || value > UINT32_MAX || number[0] == '-' ||
	    hash_map_find(&names->offsets, value, &known))
		return 0;
	known = names->texts.length;
	text_builder_append_bytes(&names->texts, line, colon - line);
	text_builder_append_bytes(&names->texts, "", 1);
	return names->texts.failed ? -ENOMEM : hash_map_set(&names->offsets, value, known);
}

static void refresh(struct user_names *names, uint64_t now_ns)
{
	_cleanup_(close_fd) int fd = -1;
	struct stat status;
	uint64_t changed_ns;

	if (now_ns < names->fresh_until_ns)
		return;
	names->fresh_until_ns = now_ns + FRESH_NS;
	if (stat(names->path, &status))
		return;
	changed_ns = (uint64_t)status.st_mtim.tv_sec * NS_PER_SECOND + status.st_mtim.tv_nsec;
	if (names->inode == status.st_ino && names->changed_ns == changed_ns)
		return;
	fd = open(names->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	names->inode = status.st_ino;
	names->changed_ns = changed_ns;
	forget(names);
	/* Names that were read before an error stay. */
	lines_of_fd(fd, FILE_MAX_BYTES, take_line, names);
}

void user_name_read(struct user_names *names, uid_t uid, uint64_t now_ns,
		    char name[USER_NAME_MAX_BYTES])
{
	uint64_t offset;

	refresh(names, now_ns);
	if (!names->texts.failed && hash_map_find(&names->offsets, uid, &offset))
		snprintf(name, USER_NAME_MAX_BYTES, "%s", names->texts.text + offset);
	else
		snprintf(name, USER_NAME_MAX_BYTES, "%u", uid);
}
