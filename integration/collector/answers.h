/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The collector's answers to successive requests: good ones and every kind of bad ones.
 *
 *	ok			taken
 *	late=2s			taken, answered after that time
 *	status=N[:TEXT]		gRPC status N
 *	retry-info=D[:N]	status N (8, RESOURCE_EXHAUSTED) with RetryInfo of D; 14 is UNAVAILABLE
 *	partial=N[:TEXT]	taken except for N profiles; 0 is only a warning
 *	hang			no answer
 *	reset			the connection is shut down
 *	garbage			taken, with bytes that are not a response
 *	random:SEED:PERCENT	one of the above in PERCENT of the requests, else ok
 *
 * A schedule is a list of answers, separated by commas; `*N` after an answer repeats it, `*`
 * repeats it for ever. After the list all answers are ok. Durations are written as 2s, 100ms; a
 * text may not contain a comma or an asterisk.
 */
#ifndef INTEGRATION_COLLECTOR_ANSWERS_H
#define INTEGRATION_COLLECTOR_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"

enum answer_kind {
	ANSWER_OK,
	ANSWER_LATE,
	ANSWER_STATUS,
	ANSWER_RETRY_INFO,
	ANSWER_PARTIAL,
	ANSWER_HANG,
	ANSWER_RESET,
	ANSWER_GARBAGE,
	ANSWER_RANDOM,
};

enum { ANSWER_TEXT_BYTES = 256 };

struct answer {
	enum answer_kind kind;
	/** The gRPC status, the rejected profiles, or for ANSWER_RANDOM the per cent. */
	int64_t number;
	/**
	 * The delay of ANSWER_LATE and ANSWER_RETRY_INFO, or for ANSWER_RANDOM the state of the
	 * generator.
	 */
	uint64_t delay_ns;
	char text[ANSWER_TEXT_BYTES];
	/** How often it is given; UINT64_MAX: for ever. */
	uint64_t repeat;
};

VECTOR_DEFINE(answer_vector, struct answer)

struct answers {
	struct answer_vector list;
	size_t next;
	uint64_t given;
};

/** -EINVAL with a text about the error, or -ENOMEM; @answers may be deinited in any case. */
int answers_init(struct answers *answers, const char *schedule);
void answers_deinit(struct answers *answers);

/** The answer to the next request; never ANSWER_RANDOM. */
struct answer answers_next(struct answers *answers);

/** Describes the answer as in a schedule: "ok", "status 14". */
void answer_describe(const struct answer *answer, char *text, size_t size);

/** True if a request with this answer counts as delivered. */
bool answer_is_taken(const struct answer *answer);

/* --- messages on the wire --- */

enum { ANSWER_MESSAGE_MAX_BYTES = 512 };

/**
 * Writes the ExportProfilesServiceResponse of the answer, or its garbage; returns the number of
 * bytes. @bytes has room for ANSWER_MESSAGE_MAX_BYTES.
 */
size_t answer_response(const struct answer *answer, uint8_t *bytes);

/**
 * Writes the answer's google.rpc.Status with RetryInfo, for grpc-status-details-bin; 0 bytes for
 * other answers.
 */
size_t answer_status_details(const struct answer *answer, uint8_t *bytes);

#endif
