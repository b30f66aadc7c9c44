/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Shared by all answers: one request, a view of the history while the request is answered, and the
 * selection of samples. Errors have a text for users (fail()).
 */
#ifndef VIEWER_QUESTION_H
#define VIEWER_QUESTION_H

#include <jansson.h>

#include "viewer/api.h"
#include "viewer/debug_packages.h"
#include "viewer/flame_tree.h"
#include "viewer/selection.h"
#include "viewer/stack_names.h"
#include "viewer/transforms.h"

struct api {
	struct api_config config;
	/** The types of values of the agent's samples, if they have a weight: samples, and the weight. Owns nothing. */
	struct value_type weight_types[2];
	struct profile_facts weight_facts;
	struct stack_names names;
	struct debug_packages packages;
	/** How often the names were tidied since the last question. */
	unsigned int idle_tidies;
};

struct question {
	struct api *api;
	const struct api_request *request;
	struct selection selection;
	struct history_view view;
	/** The type of the values that are summed; only samples with it are read, unless all_types is set. */
	uint32_t type;
	bool all_types;
	/**
	 * Indexed by key id: bits like those of selection_misses(), with those for names in the
	 * stack too; MISSES_UNKNOWN until they are needed.
	 */
	uint16_t *misses;
	/** The range of samples in milliseconds: the oldest, and the end after the newest. */
	uint64_t first_ms;
	uint64_t end_ms;
	/** Further members of the answer as text, each after a comma: trees, whose numbers would be ten times as large as JSON values. */
	struct text_builder members;
};

int question_init(struct question *question, struct api *api, const struct api_request *request);
/** Also closes what was opened to find names. */
void question_deinit(struct question *question);

/** The text of @object with the question's further members. The caller frees it; NULL without memory. */
char *question_text(const struct question *question, const json_t *object);

/** Restarts reading, with the samples from @from_ms until before @to_ms. */
void question_seek(struct question *question, uint64_t from_ms, uint64_t to_ms);

/**
 * Reads the next sample; *@misses has a bit for each selector that excludes it, the CPU's included.
 * 1, 0 at the end, -ENOMEM.
 */
int question_next(struct question *question, struct history_sample *sample, unsigned int *misses);

/**
 * Sums up the values of the selected samples of each key in a range, indexed by key id, and adds them up in
 * @total. The caller frees @counts, on errors too. -ENOMEM.
 */
int question_count(struct question *question, uint64_t from_ms, uint64_t to_ms, uint64_t **counts,
		   uint64_t *total);

/** How long the range is, as far as there are samples; at least 1. */
uint64_t question_range_ms(const struct question *question, uint64_t from_ms, uint64_t to_ms);

/** Milliseconds since the history's time 0. */
uint64_t question_ms(const struct question *question, uint64_t time_ns);

/** The time up to which there may be samples by now: of a live history the clock's, unless it is paused. */
uint64_t question_now_ms(const struct question *question);

/** One stack in the form that the question asks for, with the levels above it, and its counts. */
struct asked_stack {
	struct location_list list;
	/** Code locations (struct stack_location) of the levels above the stack. */
	uint32_t levels[2];
	uint32_t level_count;
	uint64_t count;
	uint64_t base_count;
};

VECTOR_DEFINE(asked_stack_vector, struct asked_stack)

/** A key of the history, the index of its stack, and its samples in the range. */
struct asked_key {
	uint32_t id;
	uint32_t stack;
	uint64_t count;
};

VECTOR_DEFINE(asked_key_vector, struct asked_key)

struct asked_stacks {
	struct asked_stack_vector stacks;
	/** In the order of their stacks. */
	struct asked_key_vector keys;
	uint64_t total;
	uint64_t base_total;
	bool with_lines;
	/** Whole stacks are wanted with their leaves first. */
	bool is_inverted;
	/** By what the page colours frames: trees have a column of it. */
	enum frame_unit colour;
	/** Owns the lists of stacks that it has changed. */
	struct transforms transforms;
};

/**
 * Collects all stacks that the question selects, for both ranges (FRAME OPTIONS and base_from of
 * API.md).
 */
int asked_stacks_init(struct asked_stacks *asked, struct question *question);
void asked_stacks_deinit(struct asked_stacks *asked);

/** The id by which frames are merged: the code location's, or its function's. */
uint32_t asked_id(const struct asked_stacks *asked, const struct question *question,
		  uint32_t location);

/** The function of an asked_id(), with the line if there are lines. */
struct stack_location asked_location(const struct asked_stacks *asked,
				     const struct stack_names *names, uint32_t id);

/** The types of values: those of an opened profile or of weighed samples. NULL: each sample counts as one. */
const struct profile_facts *api_types(const struct api *api);

/** The origin of the samples that have values of the selected type. */
uint8_t question_origin(const struct question *question);

/** Whether values of the selected type are no samples of the agent. */
bool question_has_values(const struct question *question);

/** The selected type, "samples" in "count" if the samples are the agent's. */
const struct value_type *question_type(const struct question *question);

/** Sets "type" of @object. */
void put_type(const struct question *question, json_t *object);
json_t *type_json(const struct value_type *type);

/** A sum of values, of either sign, in the unit of the selected type. */
json_t *value_json(const struct question *question, uint64_t sum);
void put_value(const struct question *question, json_t *object, const char *key, uint64_t sum);

/** Sets @key of @object. A lack of memory shows when the whole answer is written. */
void put_number(json_t *object, const char *key, uint64_t number);
/** @text may be any bytes: invalid UTF-8 is replaced. */
json_t *text_json(const char *text);
void put_text(json_t *object, const char *key, const char *text);

/** Sets @key of @object to share_significance(). */
void put_significance(json_t *object, const char *key, uint64_t count, uint64_t total,
		      uint64_t base_count, uint64_t base_total);

#endif
