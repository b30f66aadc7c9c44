/* SPDX-License-Identifier: Apache-2.0 */
/** The end of a gRPC call to an answer: status, RetryInfo, response, and a text for people. */
#ifndef REPORTER_GRPC_ANSWER_H
#define REPORTER_GRPC_ANSWER_H

#include <grpc/grpc.h>
#include <stdbool.h>

#include "reporter/transport.h"

/** The message of an answer when OpenSSL does not take the certificates of the options. */
extern const char grpc_unusable_certificates[];

/**
 * Fills @answer, which is zeroed but for retry_delay_ns. @response may be NULL; all is borrowed. A
 * response that cannot be understood leaves the status as it is, with a message that says so: the
 * collector has taken the profiles.
 */
void grpc_read_answer(struct transport_answer *answer, grpc_status_code status, grpc_slice details,
		      const grpc_metadata_array *trailers, grpc_byte_buffer *response,
		      bool is_plain);

#endif
