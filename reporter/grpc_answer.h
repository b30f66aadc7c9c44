/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Turns the end of a gRPC call into an answer: status, RetryInfo, response, and a text for people.
 */
#ifndef REPORTER_GRPC_ANSWER_H
#define REPORTER_GRPC_ANSWER_H

#include <grpc/grpc.h>
#include <stdbool.h>

#include "reporter/transport.h"

/** The answer's message when OpenSSL rejects the configured certificates. */
extern const char grpc_unusable_certificates[];

/**
 * Fills @answer, which is zeroed except for retry_delay_ns. @response may be NULL; all arguments
 * are borrowed. If the response cannot be parsed, the status stays as it is, because the collector
 * has taken the profiles; the message says so.
 */
void grpc_read_answer(struct transport_answer *answer, grpc_status_code status, grpc_slice details,
		      const grpc_metadata_array *trailers, grpc_byte_buffer *response,
		      bool is_plain);

#endif
