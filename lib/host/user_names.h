/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of users, from a file like /etc/passwd only: services of the C library that ask other machines may take their time.
 * The file is read again when it has changed. One thread.
 */
#ifndef LIB_HOST_USER_NAMES_H
#define LIB_HOST_USER_NAMES_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/hash_map.h"
#include "lib/base/text_builder.h"

enum {
	/** Bytes of a name with its NUL. Longer names are not taken. */
	USER_NAME_MAX_BYTES = 64,
};

struct user_names {
	/** Borrowed. */
	const char *path;
	/** Time until which the file is not looked at, and what it was like when it was read. */
	uint64_t fresh_until_ns;
	uint64_t inode;
	uint64_t changed_ns;
	/** uid to the offset of its name in texts. */
	struct hash_map offsets;
	struct text_builder texts;
};

void user_names_init(struct user_names *names, const char *path);
void user_names_deinit(struct user_names *names);

/** The name of @uid, or its number if it has none. @now_ns: the file is looked at once in some seconds. */
void user_name_read(struct user_names *names, uid_t uid, uint64_t now_ns,
		    char name[USER_NAME_MAX_BYTES]);

#endif
