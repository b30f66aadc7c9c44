/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a collector answers, from bytes that it may have made up: bounded, and without trust in any
 * number or text. And what we answer as one.
 */
#ifndef REPORTER_OTLP_ANSWER_H
#define REPORTER_OTLP_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "reporter/transport.h"

/** More than that is no answer. */
enum { OTLP_ANSWER_MAX_BYTES = 64 << 10 };

/** Puts @text into @answer->message: valid UTF-8, no control characters, cut to fit. */
void otlp_answer_set_message(struct transport_answer *answer, const char *text);

/**
 * Reads an ExportProfilesServiceResponse into @answer's rejected_profiles (0 at least) and message.
 * -EBADMSG if it is none; then they are untouched.
 */
int otlp_answer_read_response(struct transport_answer *answer, const void *bytes, size_t count);

/**
 * The other side of it: writes an ExportProfilesServiceResponse of @rejected profiles and @text, which is valid UTF-8,
 * into @bytes if there is room for @capacity of them; how many they are, 0 if there is not.
 */
size_t otlp_answer_write_response(int64_t rejected, const char *text, void *bytes, size_t capacity);

/**
 * The retry_delay of the first RetryInfo in a google.rpc.Status, as the trailer
 * grpc-status-details-bin has it (grpc.io, google/rpc/error_details.proto). A delay below 0 counts
 * as 0. UINT64_MAX if there is none, or if the bytes are no Status.
 */
uint64_t otlp_answer_read_retry_delay(const void *bytes, size_t count);

#endif
