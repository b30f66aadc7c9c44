/* SPDX-License-Identifier: Apache-2.0 */
/** A message of gRPC as its bytes, unpacked within a bound: the C core itself has none. */
#ifndef REPORTER_GRPC_MESSAGE_H
#define REPORTER_GRPC_MESSAGE_H

#include <grpc/grpc.h>
#include <stddef.h>

/**
 * Reads @message, which may be NULL, into *@bytes, which the caller frees; there is room for a NUL behind them. gzip and
 * deflate are unpacked. -EBADMSG with a text for the peer for none, a damaged one, and one of over @max_bytes; -ENOMEM.
 */
int grpc_message_read(grpc_byte_buffer *message, size_t max_bytes, char **bytes, size_t *count);

#endif
