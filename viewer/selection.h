/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The samples that a request selects (SELECTION in viewer/page/API.md): different parameters narrow
 * the selection, repeated ones widen it. The texts are untrusted.
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

/**
 * Samples are selected by time and by these. The attributes of a sample come first, with their own
 * numbers.
 */
enum selector {
#define X(NAME, ...) SELECT_##NAME,
	SAMPLE_ATTRIBUTES(X)
#undef X
		SELECT_CONTAINER = SAMPLE_ATTRIBUTE_COUNT,
	SELECT_HOST,
	SELECT_KIND,
	SELECT_FUNCTION,
	/** Functions at which the stacks begin that have them (viewer/transforms.h). */
	SELECT_BEGIN,
	SELECT_USER,
	SELECT_UNIT,
	SELECT_PARENT,
	SELECTOR_COUNT,
};

VECTOR_DEFINE(value_vector, const char *)

/** Texts are borrowed from the request. */
struct selection_values {
	struct value_vector texts[SELECTOR_COUNT];
	/** Used only for attributes that are numbers. */
	struct number_vector numbers[SELECTOR_COUNT];
};

struct selection {
	/** Milliseconds since the history's time 0; UINT64_MAX: no end. */
	uint64_t from_ms;
	uint64_t to_ms;
	bool has_base;
	uint64_t base_from_ms;
	uint64_t base_to_ms;
	struct selection_values values;
	/** Bit s: the base has values of its own for selector s (base_NAME); the others are the selection's. */
	unsigned int base_selectors;
	struct selection_values base_values;
};

/** -EINVAL with a text for users (fail()) for invalid values; other parameters are ignored. */
int selection_init(struct selection *selection, const struct api_request *request);
void selection_deinit(struct selection *selection);

/** The samples that @selection is compared with, as a selection of its own; it borrows from @selection. */
struct selection selection_base(const struct selection *selection);

/**
 * Checks the fields of a key, but not the names in its stack and not the CPU. Bit s of the result
 * is set if selector s excludes the key.
 */
unsigned int selection_misses(const struct selection *selection, const struct sample *key);

/** True if @selector includes @text or @number; a selector without values includes everything. */
bool selection_has_text(const struct selection *selection, enum selector selector,
			const char *text);
bool selection_has_number(const struct selection *selection, enum selector selector,
			  uint32_t number);

/** The value of a parameter, the last one if it is repeated; NULL if missing. */
const char *request_parameter(const struct api_request *request, const char *name);

/** The number of a parameter, @otherwise if missing. -EINVAL with a text for users. */
int request_number(const struct api_request *request, const char *name, uint64_t least,
		   uint64_t most, uint64_t otherwise, uint64_t *number);

#endif
