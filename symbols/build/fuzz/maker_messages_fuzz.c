/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a process that makes symbol caches, of any bytes: it gets no other file than those that it may ask for, and no
 * more room than the limits say.
 *
 * covers: maker_messages.c
 */
#include "symbols/build/maker_messages.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/byte_reader.h"
#include "lib/base/message_socket.h"
#include "symbols/build/symbol_cache_maker_child.h"

enum {
	MESSAGES_MAX = 16,
	TEXT_OFFSET = offsetof(struct symbol_cache_maker_message, text),
	/* Larger files would have the disk filled. */
	LARGEST_SHIFT = 16,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes a message from the input. Returns its size. */
static size_t take_message(struct byte_reader *reader, struct symbol_cache_maker_message *message)
{
	uint8_t kind = byte_reader_u8(reader), length = byte_reader_u8(reader);
	const void *text;

	*message = (struct symbol_cache_maker_message){
		.kind = kind % (SYMBOL_CACHE_MAKER_RESULT + 2),
		.error = (int32_t)byte_reader_u32(reader) >> (kind >> 4),
	};
	/* Small files, or those over the limit. */
	message->bytes = kind & 16 ? UINT64_MAX - length :
				     (uint64_t)length << length % LARGEST_SHIFT;
	if (length > byte_reader_left(reader))
		length = (uint8_t)byte_reader_left(reader);
	text = byte_reader_bytes(reader, length);
	if (length)
		memcpy(message->text, text, length);
	return TEXT_OFFSET + length;
}

/* The answer to a request; at most one descriptor comes with it. */
static void take_answer(int socket, const struct symbol_cache_maker_message *message)
{
	struct symbol_cache_maker_message answer;
	struct message_fds fds = { 0 };
	struct stat status;

	assert(message_receive(socket, &answer, sizeof(answer), &fds) == TEXT_OFFSET);
	assert(answer.kind == SYMBOL_CACHE_MAKER_OPENED && fds.count <= 1);
	if (fds.count && message->kind == SYMBOL_CACHE_MAKER_OPEN_SCRATCH)
		assert(!fstat(fds.fds[0], &status) && (uint64_t)status.st_size == message->bytes);
	message_fds_deinit(&fds);
}

static void check_result(const struct maker_messages *messages,
			 const struct symbol_cache_maker_message *message)
{
	assert(messages->has_result && messages->result <= 0 && messages->result > -4096);
	assert(!message->error == !messages->result);
	assert(memchr(messages->text, '\0', sizeof(messages->text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct debug_file_search search = { .proc_root = "/nowhere" };
	struct maker_messages messages = { .search = &search, .elf = -1 };
	struct byte_reader reader;
	int sockets[2];

	assert(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	messages.socket = sockets[0];
	byte_reader_init(&reader, data, size);
	for (int i = 0; i < MESSAGES_MAX && byte_reader_left(&reader); i++) {
		struct symbol_cache_maker_message message;
		size_t bytes = take_message(&reader, &message);

		assert(!message_send(sockets[1], &message, bytes, NULL, 0));
		assert(maker_messages_hear(&messages) == (bytes > TEXT_OFFSET));
		if (bytes == TEXT_OFFSET)
			continue;
		if (message.kind <= SYMBOL_CACHE_MAKER_OPEN_BIG_BYTES)
			take_answer(sockets[1], &message);
		else if (message.kind == SYMBOL_CACHE_MAKER_RESULT)
			check_result(&messages, &message);
	}
	assert(!maker_messages_hear(&messages));
	close(sockets[0]);
	close(sockets[1]);
	return 0;
}
