/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which samples a question is about, as the page says it (SELECTION in viewer/page/API.md): different parameters
 * narrow down, the same one repeated widens. The texts come from anybody.
 */
#ifndef VIEWER_SELECTION_H
#define VIEWER_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "reporter/sequence_counts.h"
#include "viewer/api.h"
#include "viewer/history.h"

enum {
	SELECTION_VALUES_MAX = 256,
	SELECTION_VALUE_MAX_BYTES = 4096,
};

/** Samples are selected by these, and by time: first each attribute of a sample, by its number. */
enum selector {
#define X(NAME, ...) SELECT_##NAME,
	SAMPLE_ATTRIBUTES(X)
#undef X
		SELECT_CONTAINER = SAMPLE_ATTRIBUTE_COUNT,
	SELECT_HOST,
	SELECT_KIND,
	SELECT_FUNCTION,
	SELECTOR_COUNT,
};

VECTOR_DEFINE(value_vector, const char *)

struct selection {
	/** Since the history's time 0; UINT64_MAX: no end. */
	uint64_t from_ms;
	uint64_t to_ms;
	bool has_base;
	uint64_t base_from_ms;
	uint64_t base_to_ms;
	/** Texts are borrowed from the request. */
	struct value_vector texts[SELECTOR_COUNT];
	/** Only attributes that are numbers have some. */
	struct number_vector numbers[SELECTOR_COUNT];
};

/** -EINVAL with a text for users (fail()) for values that make no sense; parameters of others are left alone. */
int selection_init(struct selection *selection, const struct api_request *request);
void selection_deinit(struct selection *selection);

/**
 * Of what a key says, not its stack's names and not the CPU: bit s of the result is set if it is not among what
 * selector s chooses.
 */
unsigned int selection_misses(const struct selection *selection, const struct sample *key);

/** Whether @text or @number is among what @selector chooses: anything is if it chooses nothing. */
bool selection_has_text(const struct selection *selection, enum selector selector,
			const char *text);
bool selection_has_number(const struct selection *selection, enum selector selector,
			  uint32_t number);

/** The value of a parameter, the last one if it is there again; NULL. */
const char *request_parameter(const struct api_request *request, const char *name);

/** The number of a parameter, @otherwise without it. -EINVAL with a text for users. */
int request_number(const struct api_request *request, const char *name, uint64_t least,
		   uint64_t most, uint64_t otherwise, uint64_t *number);

#endif
