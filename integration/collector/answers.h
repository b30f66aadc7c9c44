/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How the collector answers, request after request: good answers and every kind of bad ones.
 *
 *	ok			taken
 *	late=2s			taken, answered after that time
 *	status=N[:TEXT]		gRPC status N
 *	retry-info=D[:N]	status N (8, RESOURCE_EXHAUSTED) with RetryInfo of D; 14 is UNAVAILABLE
 *	partial=N[:TEXT]	taken but for N profiles; 0 is a warning only
 *	hang			never
 *	reset			the connection is shut down
 *	garbage			taken, with bytes that are no response
 *	random:SEED:PERCENT	one of the above in PERCENT of the requests, else ok
 *
 * A schedule is a list of them, parted by commas; `*N` behind one repeats it, `*` for ever. After
 * the last all is ok. Durations as 2s, 100ms; a text holds no comma and no asterisk.
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
	/** gRPC status; rejected profiles; of ANSWER_RANDOM the per cent. */
	int64_t number;
	/** Of ANSWER_LATE and ANSWER_RETRY_INFO; of ANSWER_RANDOM the generator's state. */
	uint64_t delay_ns;
	char text[ANSWER_TEXT_BYTES];
	/** How often it comes; UINT64_MAX: for ever. */
	uint64_t repeat;
};

VECTOR_DEFINE(answer_vector, struct answer)

struct answers {
	struct answer_vector list;
	size_t next;
	uint64_t given;
};

/** -EINVAL with a text that says what is wrong, or -ENOMEM; @answers can be deinited anyway. */
int answers_init(struct answers *answers, const char *schedule);
void answers_deinit(struct answers *answers);

/** The answer to the next request; never ANSWER_RANDOM. */
struct answer answers_next(struct answers *answers);

/** As in the schedule: "ok", "status 14". */
void answer_describe(const struct answer *answer, char *text, size_t size);

/** True if what came in the request counts as delivered by this answer. */
bool answer_is_taken(const struct answer *answer);

/* --- what goes over the wire --- */

enum { ANSWER_MESSAGE_MAX_BYTES = 512 };

/**
 * The ExportProfilesServiceResponse of the answer, or its garbage; the number of bytes. @bytes has
 * room for ANSWER_MESSAGE_MAX_BYTES.
 */
size_t answer_response(const struct answer *answer, uint8_t *bytes);

/** The google.rpc.Status with RetryInfo of the answer, for grpc-status-details-bin; 0 for others. */
size_t answer_status_details(const struct answer *answer, uint8_t *bytes);

#endif
