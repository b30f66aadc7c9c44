/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Parses a collector's answer. Its bytes may be forged, so sizes are limited, and no number or text
 * is trusted. Also writes our own answer to a sender.
 */
#ifndef REPORTER_OTLP_ANSWER_H
#define REPORTER_OTLP_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "reporter/transport.h"

/** Larger answers are rejected. */
enum { OTLP_ANSWER_MAX_BYTES = 64 << 10 };

/** Sets @answer->message to @text: valid UTF-8, no control characters, cut to fit. */
void otlp_answer_set_message(struct transport_answer *answer, const char *text);

/**
 * Reads an ExportProfilesServiceResponse, or an ExportMetricsServiceResponse, which has the same fields, into @answer's rejected_count (at least 0) and message.
 * -EBADMSG if it is not one; the fields are untouched then.
 */
int otlp_answer_read_response(struct transport_answer *answer, const void *bytes, size_t count);

/**
 * The counterpart of otlp_answer_read_response(): writes an ExportProfilesServiceResponse with
 * @rejected profiles and @text, which is valid UTF-8, to @bytes. Returns the byte count, or 0 if it
 * is more than @capacity.
 */
size_t otlp_answer_write_response(int64_t rejected, const char *text, void *bytes, size_t capacity);

/**
 * The retry_delay of the first RetryInfo in a google.rpc.Status, which the trailer
 * grpc-status-details-bin holds (grpc.io, google/rpc/error_details.proto). A delay below 0 counts
 * as 0. UINT64_MAX if there is none, or if the bytes are not a Status.
 */
uint64_t otlp_answer_read_retry_delay(const void *bytes, size_t count);

#endif
