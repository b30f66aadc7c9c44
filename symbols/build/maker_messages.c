/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/build/maker_messages.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>

#include "lib/base/cleanup.h"
#include "lib/base/message_socket.h"
#include "symbols/build/symbol_cache_maker_child.h"
#include "symbols/cache/big_bytes.h"
#include "symbols/cache/scratch_file.h"
#include "symbols/dwarf/unpacked_elf.h"

enum { ERRNO_MAX = 4095 };

/* Limit of everything that a process decompresses, one file after the other. */
#define SCRATCH_MAX_BYTES (2 * UNPACKED_MAX_BYTES)

static void open_for(struct maker_messages *messages,
		     const struct symbol_cache_maker_message *message)
{
	struct symbol_cache_maker_message reply = { .kind = SYMBOL_CACHE_MAKER_OPENED };
	_cleanup_(close_fd) int fd = -1;

	if (message->kind == SYMBOL_CACHE_MAKER_OPEN) {
		if (messages->search && messages->open_count++ < MAKER_OPENS_MAX)
			(void)debug_file_open_path(messages->search, message->text, messages->elf,
						   &fd);
	} else if (message->kind == SYMBOL_CACHE_MAKER_OPEN_BIG_BYTES) {
		if (messages->open_count++ < MAKER_OPENS_MAX)
			(void)scratch_file_open_sparse(BIG_BYTES_MAX, &fd);
	} else if (message->bytes <= SCRATCH_MAX_BYTES - messages->scratch_bytes) {
		messages->scratch_bytes += message->bytes;
		(void)scratch_file_open(message->bytes, &fd);
	}
	/* If this fails, the process is about to end, or does not read its socket, and must not block us. */
	(void)message_try_send(messages->socket, &reply,
			       offsetof(struct symbol_cache_maker_message, text), &fd, fd >= 0);
}

bool maker_messages_hear(struct maker_messages *messages)
{
	struct symbol_cache_maker_message message;
	size_t text_offset = offsetof(struct symbol_cache_maker_message, text);
	ssize_t size = recv(messages->socket, &message, sizeof(message), MSG_DONTWAIT);

	if (size <= (ssize_t)text_offset)
		return false;
	((char *)&message)[size - 1] = '\0';
	if (message.kind == SYMBOL_CACHE_MAKER_OPEN ||
	    message.kind == SYMBOL_CACHE_MAKER_OPEN_SCRATCH ||
	    message.kind == SYMBOL_CACHE_MAKER_OPEN_BIG_BYTES) {
		open_for(messages, &message);
	} else if (message.kind == SYMBOL_CACHE_MAKER_RESULT) {
		messages->has_result = true;
		messages->result = message.error < 0 && message.error >= -ERRNO_MAX ?
					   message.error :
				   message.error ? -EBADMSG :
						   0;
		snprintf(messages->text, sizeof(messages->text), "%.*s",
			 (int)sizeof(messages->text) - 1, message.text);
	}
	return true;
}
