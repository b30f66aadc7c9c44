/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Headers that the user wants on every call: `authorization=Bearer ...`. A value can be read from a
 * file, so that it is not on the command line and can be renewed while the agent runs.
 */
#ifndef REPORTER_TRANSPORT_HEADER_H
#define REPORTER_TRANSPORT_HEADER_H

#include <stddef.h>

enum {
	TRANSPORT_HEADER_MAX_COUNT = 32,
	/**
	 * Limit of a key and of a value; collectors accept about twice that for all headers
	 * together.
	 */
	TRANSPORT_HEADER_MAX_BYTES = 4096,
};

struct transport_header {
	/** Owned; lower case. The other texts are in the same allocation. */
	char *key;
	/** NULL if it is read from @path for each call. */
	char *value;
	char *path;
};

struct transport_headers {
	struct transport_header items[TRANSPORT_HEADER_MAX_COUNT];
	size_t count;
};

/**
 * Adds @key with @value, or with the contents of the file after an `@`, which must be readable now.
 * The key is converted to lower case; an equal key is replaced. -EINVAL with a text for users (keys
 * and values are ASCII, no binary ones, none that gRPC sets itself), -ENOMEM.
 */
int transport_headers_add(struct transport_headers *headers, const char *key, const char *value);
void transport_headers_deinit(struct transport_headers *headers);

/**
 * Reads the value to send into @text of TRANSPORT_HEADER_MAX_BYTES + 1. -errno, or -EINVAL with a
 * text, if the file cannot be used or is empty, as while it is being written.
 */
int transport_header_read(const struct transport_header *header, char *text);

#endif
