/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the answers have in common: one request, a view of the history while it is answered, and which of its samples
 * it is about. Errors have a text for users (fail()).
 */
#ifndef VIEWER_QUESTION_H
#define VIEWER_QUESTION_H

#include <jansson.h>

#include "viewer/api.h"
#include "viewer/flame_tree.h"
#include "viewer/selection.h"
#include "viewer/stack_names.h"

struct api {
	struct api_config config;
	struct stack_names names;
};

struct question {
	struct api *api;
	const struct api_request *request;
	struct selection selection;
	struct history_view view;
	/** By number of a key: what selects otherwise (selection_misses()), and MISSES_UNKNOWN. */
	uint16_t *misses;
	/** Milliseconds of the oldest and behind the newest sample that there may be. */
	uint64_t first_ms;
	uint64_t end_ms;
};

int question_init(struct question *question, struct api *api, const struct api_request *request);
/** What was opened to find names is let go, too. */
void question_deinit(struct question *question);

/** Starts with the samples from @from_ms on, before @to_ms. */
void question_seek(struct question *question, uint64_t from_ms, uint64_t to_ms);

/**
 * The next sample; *@misses has a bit for each selector that does not choose it, the CPU's too. 1, 0 at the end,
 * -ENOMEM.
 */
int question_next(struct question *question, struct history_sample *sample, unsigned int *misses);

/** Milliseconds since the history's time 0. */
uint64_t question_ms(const struct question *question, uint64_t time_ns);

/** One stack as the question wants it, with what is above it, and how often it was there. */
struct asked_stack {
	struct place_list list;
	/** Places. */
	uint32_t levels[2];
	uint32_t level_count;
	uint64_t count;
	uint64_t base_count;
};

VECTOR_DEFINE(asked_stack_vector, struct asked_stack)

struct asked_stacks {
	struct asked_stack_vector stacks;
	uint64_t total;
	uint64_t base_total;
	bool with_lines;
};

/** All that the question selects, of both ranges (FRAME OPTIONS and base_from of API.md). */
int asked_stacks_init(struct asked_stacks *asked, struct question *question);
void asked_stacks_deinit(struct asked_stacks *asked);

/** What frames are told apart by: the place, or its function. */
uint32_t asked_number(const struct asked_stacks *asked, const struct question *question,
		      uint32_t place);

/** Sets @key of @object; no memory is seen when the whole is written. */
void put_number(json_t *object, const char *key, uint64_t number);
/** @text may be any bytes: what is no UTF-8 is replaced. */
json_t *text_json(const char *text);
void put_text(json_t *object, const char *key, const char *text);

/** How far the share of @count in @total is from that in the base, in standard deviations, to one decimal. */
double share_significance(uint64_t count, uint64_t total, uint64_t base_count, uint64_t base_total);
/** Sets @key of @object to it. */
void put_significance(json_t *object, const char *key, uint64_t count, uint64_t total,
		      uint64_t base_count, uint64_t base_total);

#endif
