/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads the bytes of a gRPC message and decompresses them within a limit, which the C core does not
 * have.
 */
#ifndef REPORTER_GRPC_MESSAGE_H
#define REPORTER_GRPC_MESSAGE_H

#include <grpc/grpc.h>
#include <stddef.h>

/**
 * Reads @message, which may be NULL, into *@bytes, which the caller frees; the buffer has room for
 * a NUL after them. Decompresses gzip and deflate. -EBADMSG with a text for the peer if the message
 * is missing, damaged or larger than @max_bytes; -ENOMEM.
 */
int grpc_message_read(grpc_byte_buffer *message, size_t max_bytes, char **bytes, size_t *count);

#endif
