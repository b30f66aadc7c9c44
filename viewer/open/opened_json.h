/* SPDX-License-Identifier: Apache-2.0 */
/** For all readers of JSON formats: members of objects, functions as frames, and values with fractions. */
#ifndef VIEWER_OPEN_OPENED_JSON_H
#define VIEWER_OPEN_OPENED_JSON_H

#include <stdint.h>

#include "lib/base/vector.h"
#include "viewer/open/json_index.h"
#include "viewer/open/opened_frame.h"

/** Longer facts of a file about itself are cut. */
enum { FACT_MAX_BYTES = 512 };

/** A function of the file, looked up once: an object may have any number of members. Texts are borrowed. */
struct json_function {
	/** "" for a function without a name. */
	const char *name;
	struct opened_name marks;
	const char *file;
	double line;
	double column;
	uint8_t kind;
	/** NULL: unknown. */
	const struct opened_mapping *mapping;
};

VECTOR_DEFINE(json_function_vector, struct json_function)

struct json_reader {
	struct json_index index;
	struct opened_samples *opened;
	struct opened_mapping nowhere;
	struct opened_stack stack;
	/** The type of the values that are put next, and what one unit is stored as. */
	uint32_t type;
	double scale;
};

/** The value of @key in the file's outermost object; JSON_NONE if there is none. */
uint32_t json_reader_root(struct json_reader *reader, const char *key);
/** "" if there is no such text. */
const char *json_reader_text(struct json_reader *reader, uint32_t object, const char *key);
double json_reader_number(struct json_reader *reader, uint32_t object, const char *key,
			  double otherwise);

/**
 * Adds a fact about the file as a comment: "KEY: VALUE", or the value alone if the key is "comment". The key "tool" is left out; the
 * agent's files have it before all others. -ENOMEM.
 */
int json_reader_add_fact(struct json_reader *reader, const char *key, const char *value);

/** @number as a whole number, within the limits of its type; 0 if it is none. */
int64_t json_whole(double number);
/** True if a number of the array is not whole. */
bool json_has_fraction(const struct json_index *index, uint32_t array);

/** Chooses the type of the next values, which keep some decimals if @has_fractions. -ENOMEM, -E2BIG. */
int json_reader_set_type(struct json_reader *reader, const char *type, const char *unit,
			 bool has_fractions);

/** Adds the frame of @function to the stack. -ENOMEM. */
int json_reader_push(struct json_reader *reader, const struct json_function *function);
/** Makes the trace of the pushed stack, and adds a value of it to @sample. Errors as opened_samples_put(). */
int json_reader_put(struct json_reader *reader, struct sample *sample, uint64_t time_ns,
		    double value);

#endif
