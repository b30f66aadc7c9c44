// SPDX-License-Identifier: Apache-2.0
#include "reporter/transport_header.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/text.h"

enum { SHOWN_BYTES = 64 };

static int check_key(const char *key)
{
	static const char *const reserved[] = { "te", "content-type", "user-agent", "host" };
	size_t length = strlen(key);
	bool is_reserved;

	if (!length || length > TRANSPORT_HEADER_MAX_BYTES)
		return fail(-EINVAL, "give a header as key=value");
	for (const char *at = key; *at; at++) {
		if (!islower((unsigned char)*at) && !isdigit((unsigned char)*at) &&
		    !strchr("-_.", *at))
			return fail(-EINVAL, "header keys have letters, digits and -_. only");
	}
	if (text_ends_with(key, "-bin"))
		return fail(-EINVAL, "headers ending in -bin hold bytes, which cannot be given");
	is_reserved = text_starts_with(key, "grpc-");
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		is_reserved |= !strcmp(key, reserved[i]);
	return is_reserved ? fail(-EINVAL, "header %.*s is gRPC's own", SHOWN_BYTES, key) : 0;
}

static int check_value(const char *key, const char *value)
{
	if (strlen(value) > TRANSPORT_HEADER_MAX_BYTES)
		return fail(-EINVAL, "the value of header %.*s is longer than %d bytes",
			    SHOWN_BYTES, key, TRANSPORT_HEADER_MAX_BYTES);
	for (const char *at = value; *at; at++) {
		if (*at < 0x20 || *at > 0x7e)
			return fail(-EINVAL,
				    "the value of header %.*s has other than printable ASCII",
				    SHOWN_BYTES, key);
	}
	return 0;
}

int transport_header_read(const struct transport_header *header, char *text)
{
	_cleanup_(close_fd) int fd = -1;
	/* One more byte than a value may have, and the line end that editors add. */
	char bytes[TRANSPORT_HEADER_MAX_BYTES + 4];
	ssize_t count;
	int error;

	if (header->value) {
		memcpy(text, header->value, strlen(header->value) + 1);
		return 0;
	}
	/* O_NONBLOCK: opening a pipe must not wait for its writer. */
	fd = open(header->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	count = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes) - 1);
	if (count < 0)
		return fail_errno(-errno, "cannot read %s for header %.*s", header->path,
				  SHOWN_BYTES, header->key);
	while (count && (bytes[count - 1] == '\n' || bytes[count - 1] == '\r'))
		count--;
	/* Somebody is about to rewrite the file; the call is retried. */
	if (!count)
		return fail(-EINVAL, "%s is empty; header %.*s needs a value", header->path,
			    SHOWN_BYTES, header->key);
	bytes[count] = '\0';
	if (strlen(bytes) != (size_t)count)
		return fail(-EINVAL, "%s holds a NUL", header->path);
	error = check_value(header->key, bytes);
	if (error)
		return error;
	memcpy(text, bytes, count + 1);
	return 0;
}

static struct transport_header *find_or_append(struct transport_headers *headers, const char *key)
{
	for (size_t i = 0; i < headers->count; i++) {
		if (!strcmp(headers->items[i].key, key))
			return &headers->items[i];
	}
	return headers->count < TRANSPORT_HEADER_MAX_COUNT ? &headers->items[headers->count++] :
							     NULL;
}

int transport_headers_add(struct transport_headers *headers, const char *key, const char *value)
{
	bool is_file = value[0] == '@';
	const char *rest = is_file ? value + 1 : value;
	size_t key_bytes = strlen(key) + 1;
	size_t rest_bytes = strlen(rest) + 1;
	_cleanup_(free_pointer) char *block = malloc(key_bytes + rest_bytes);
	char read_value[TRANSPORT_HEADER_MAX_BYTES + 1];
	struct transport_header header, *slot;
	int error;

	if (!block)
		return fail(-ENOMEM, "no memory for a header");
	for (size_t i = 0; i < key_bytes; i++)
		block[i] = (char)tolower((unsigned char)key[i]);
	memcpy(block + key_bytes, rest, rest_bytes);
	header = (struct transport_header){
		.key = block,
		.value = is_file ? NULL : block + key_bytes,
		.path = is_file ? block + key_bytes : NULL,
	};
	error = check_key(block);
	if (!error)
		error = is_file ? transport_header_read(&header, read_value) :
				  check_value(block, rest);
	if (error)
		return error == -ENOMEM ? error : -EINVAL;
	slot = find_or_append(headers, block);
	if (!slot)
		return fail(-EINVAL, "give at most %d headers", TRANSPORT_HEADER_MAX_COUNT);
	free(slot->key);
	*slot = header;
	take_pointer(block);
	return 0;
}

void transport_headers_deinit(struct transport_headers *headers)
{
	for (size_t i = 0; i < headers->count; i++)
		free(headers->items[i].key);
	*headers = (struct transport_headers){ 0 };
}
