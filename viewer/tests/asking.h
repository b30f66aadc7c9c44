/* SPDX-License-Identifier: Apache-2.0 */
/** An API over a test's history, and requests to it (include it after cmocka.h). */
#ifndef VIEWER_TESTS_ASKING_H
#define VIEWER_TESTS_ASKING_H

#include <jansson.h>

#include "viewer/api.h"
#include "viewer/tests/samples.h"

#define SECOND_NS 1000000000ULL
#define MS_NS 1000000ULL

enum {
	PARAMETERS_MAX = 16,
	EPOCH_NS = 1000000000,
};

struct asked {
	struct history *history;
	struct api *api;
};

static inline int set_up(void **state)
{
	static struct asked asked;
	const struct history_options history_options = { .retention_ns = 3600 * SECOND_NS };
	struct api_config config = {
		.version = "v1",
		.host = "box \"1\"",
		.kernel = "6.1",
		.source = "this machine",
		.samples_per_second = 99,
		.cpu_count = 4,
		.epoch_realtime_ns = 1700000000 * SECOND_NS,
		.epoch_monotonic_ns = EPOCH_NS,
		.shows_command_lines = true,
	};

	asked.history = history_create(&history_options);
	config.history = asked.history;
	*state = &asked;
	return asked.history ? api_create(&config, &asked.api) : -1;
}

static inline int tear_down(void **state)
{
	struct asked *asked = *state;

	api_destroy(asked->api);
	history_destroy(asked->history);
	return 0;
}

/* @question is "path?name=value&..." without any encoding. */
static inline void ask(const struct asked *asked, const char *question, bool is_post,
		       struct api_answer *answer)
{
	struct api_parameter parameters[PARAMETERS_MAX];
	char text[2048], *rest = text, *pair;
	struct api_request request = { .parameters = parameters, .is_post = is_post };

	snprintf(text, sizeof(text), "%s", question);
	request.path = strsep(&rest, "?");
	while (rest && (pair = strsep(&rest, "&"))) {
		parameters[request.parameter_count].name = strsep(&pair, "=");
		parameters[request.parameter_count++].value = pair;
	}
	api_answer(asked->api, &request, answer);
}

static inline json_t *ask_json(const struct asked *asked, const char *question)
{
	struct api_answer answer;
	json_t *json;

	ask(asked, question, false, &answer);
	if (answer.status != 200)
		print_error("%s: %s\n", question, answer.body);
	assert_int_equal(answer.status, 200);
	assert_string_equal(answer.content_type, "application/json");
	json = json_loadb(answer.body, answer.bytes, 0, NULL);
	assert_non_null(json);
	free(answer.body);
	return json;
}

static inline json_int_t number(const json_t *json, const char *key)
{
	const json_t *value = json_object_get(json, key);

	if (!json_is_integer(value))
		print_error("no number %s\n", key);
	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static inline json_int_t ask_number(const struct asked *asked, const char *question,
				    const char *key)
{
	json_t *json = ask_json(asked, question);
	json_int_t value = number(json, key);

	json_decref(json);
	return value;
}

static inline void report_many(const struct asked *asked, const char *stack,
			       const struct told *told, uint32_t count)
{
	struct told each = *told;

	if (!each.time_ns)
		each.time_ns = EPOCH_NS + 10 * MS_NS;
	while (count--)
		report_stack(asked->history, stack, &each);
}

#endif
