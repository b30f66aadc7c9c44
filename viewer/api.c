/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/model/origins.h"
#include "reporter/stack_text.h"
#include "viewer/api_export.h"
#include "viewer/api_facets.h"
#include "viewer/api_lanes.h"
#include "viewer/api_processes.h"
#include "viewer/api_quality.h"
#include "viewer/api_search.h"
#include "viewer/api_stacks.h"
#include "viewer/api_time.h"
#include "viewer/api_top.h"
#include "viewer/question.h"

enum {
	/* Limit of the lists of an opened file's stacks. */
	NAMES_MAX_BYTES = 64 << 20,
	/* The part of a live history's memory that the lists of its stacks may take; in a small history they may take more. */
	NAMES_PART = 2,
	NAMES_LEAST_BYTES = 16 << 20,
	/* So many calls of api_tidy() without a question free all lists. */
	TIDIES_WITHOUT_QUESTION = 6,
};

static size_t names_limit(const struct api_config *config)
{
	size_t bytes = history_max_bytes(config->history) / NAMES_PART;

	if (!config->is_live)
		return NAMES_MAX_BYTES;
	return bytes > NAMES_LEAST_BYTES ? bytes : NAMES_LEAST_BYTES;
}

int api_create(const struct api_config *config, struct api **api)
{
	struct api *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->config = *config;
	if (config->weight) {
		made->weight_types[0] = (struct value_type){ .type = "samples", .unit = "count" };
		made->weight_types[1] = *sample_weight_type(config->weight);
		made->weight_facts = (struct profile_facts){
			.types = made->weight_types,
			.type_count = 2,
			.shown_type = config->shows_weight,
		};
	}
	stack_names_init(&made->names, config->lookup, names_limit(config));
	debug_packages_init(&made->packages, config->proc_root, config->judge);
	*api = made;
	return 0;
}

void api_destroy(struct api *api)
{
	if (!api)
		return;
	stack_names_deinit(&api->names);
	debug_packages_deinit(&api->packages);
	free(api);
}

static struct api_totals read_totals(const struct api *api, uint32_t type)
{
	struct api_totals totals = { 0 };

	if (api->config.read_totals)
		api->config.read_totals(api->config.context, type, &totals);
	return totals;
}

static json_t *totals_json(const struct question *question, const struct api_totals *totals)
{
	json_t *object = json_object();

	put_value(question, object, "samples", totals->samples);
	put_number(object, "idle", totals->idle);
	put_number(object, "lost", totals->lost);
	put_value(question, object, "complete", totals->complete);
	put_value(question, object, "guesses", totals->guesses);
	put_value(question, object, "errors", totals->errors);
	return object;
}

/* The ages of what waits, and the processes that do not respond. */
static json_t *delays_json(const struct api_totals *totals)
{
	json_t *object = json_object(), *pids = json_array();

	put_number(object, "sample_ms", totals->oldest_sample_ms);
	put_number(object, "event_ms", totals->oldest_event_ms);
	for (uint32_t i = 0; i < totals->hanging_count; i++)
		json_array_append_new(pids, json_integer(totals->hanging_pids[i]));
	json_object_set_new(object, "hanging_pids", pids);
	return object;
}

static json_t *kinds_json(void)
{
	json_t *kinds = json_array();

	for (uint8_t kind = 0; kind < TEXT_KIND_COUNT; kind++)
		json_array_append_new(kinds, json_string(text_kind_name(kind)));
	return kinds;
}

static json_t *types_json(const struct question *question)
{
	const struct profile_facts *facts = api_types(question->api);
	json_t *types = json_array();

	if (!facts)
		json_array_append_new(types, type_json(question_type(question)));
	for (uint32_t i = 0; facts && i < facts->type_count; i++)
		json_array_append_new(types, type_json(&facts->types[i]));
	return types;
}

/* The ranges of profiles that are shown together, in ms; "to" is excluded. */
static json_t *parts_json(const struct question *question)
{
	const struct profile_facts *facts = question->api->config.facts;
	json_t *parts = json_array();

	for (size_t i = 0; facts && i < facts->part_count; i++) {
		const struct profile_part *part = &facts->parts[i];
		json_t *object = json_object();

		put_text(object, "name", part->name);
		put_number(object, "from", question_ms(question, part->first_ns));
		put_number(object, "to", question_ms(question, part->last_ns) + 1);
		json_array_append_new(parts, object);
	}
	return parts;
}

static int answer_status(struct question *question, json_t *object)
{
	const struct api_config *config = &question->api->config;
	struct api_totals totals = read_totals(question->api, question->type);
	bool is_paused = history_is_paused(config->history);
	bool is_weight = !config->facts && question_has_values(question);
	struct history_facts facts;

	history_facts(config->history, &facts);
	put_text(object, "version", config->version);
	json_object_set_new(object, "kinds", kinds_json());
	put_text(object, "host", config->host);
	put_text(object, "kernel", config->kernel);
	put_text(object, "source", config->source);
	json_object_set_new(object, "is_live", json_boolean(config->is_live));
	json_object_set_new(object, "has_times",
			    json_boolean(config->is_live || facts.first_ns != facts.last_ns));
	json_object_set_new(object, "is_paused", json_boolean(is_paused));
	json_object_set_new(object, "token_needed", json_boolean(config->token_needed));
	put_number(object, "epoch_ms", config->epoch_realtime_ns / NS_PER_MS);
	put_number(object, "now_ms", question_now_ms(question));
	put_number(object, "first_ms", question->first_ms);
	/* Values that are no samples come at no rate. */
	put_number(object, "samples_per_second", is_weight ? 0 : config->samples_per_second);
	put_number(object, "cpu_count", config->cpu_count);
	put_number(object, "retention_ms", config->retention_ns / NS_PER_MS);
	if (config->facts)
		put_value(question, object, "samples", totals.samples);
	else
		put_number(object, "samples", is_weight ? facts.weight : facts.samples);
	json_object_set_new(object, "types", types_json(question));
	put_type(question, object);
	json_object_set_new(object, "parts", parts_json(question));
	json_object_set_new(object, "about", about_json(question));
	put_number(object, "dropped", facts.dropped);
	put_number(object, "history_bytes", facts.bytes);
	put_number(object, "names_pending", totals.names_pending);
	put_number(object, "generation", facts.changes + totals.names_generation);
	json_object_set_new(object, "totals", totals_json(question, &totals));
	json_object_set_new(object, "delays", delays_json(&totals));
	return 0;
}

/* --- the interface --- */

static const struct {
	const char *path;
	int (*answer)(struct question *question, json_t *object);
} answers[] = {
	{ "status", answer_status },	 { "timeline", answer_timeline },
	{ "heatmap", answer_heatmap },	 { "flame", answer_flame },
	{ "sandwich", answer_sandwich }, { "top", answer_top },
	{ "facets", answer_facets },	 { "quality", answer_quality },
	{ "search", answer_search },	 { "processes", answer_processes },
	{ "lanes", answer_lanes },
};

static unsigned int status_of(int err)
{
	switch (err) {
	case -EINVAL:
		return 400;
	case -ENOENT:
		return 404;
	case -EPERM:
		return 405;
	default:
		return 503;
	}
}

/* @text, which the answer frees, may be NULL. */
static void write_body(struct api_answer *answer, char *text)
{
	answer->content_type = "application/json";
	answer->body = text;
	answer->bytes = text ? strlen(text) : 0;
}

static void write_json(struct api_answer *answer, json_t *object)
{
	write_body(answer, object ? json_dumps(object, JSON_COMPACT) : NULL);
	json_decref(object);
}

static void write_error(struct api_answer *answer, int err)
{
	json_t *object = json_object();

	put_text(object, "error",
		 err == -ENOMEM ? "the agent has no memory for that" : error_text());
	answer->status = status_of(err);
	write_json(answer, object);
}

static int pause_history(const struct api *api, const struct api_request *request, json_t *object)
{
	const char *on = request_parameter(request, "on");

	if (!request->is_post)
		return fail(-EPERM, "pause is asked for by POST");
	if (!on || (strcmp(on, "0") && strcmp(on, "1")))
		return fail(-EINVAL, "on is 0 or 1");
	history_pause(api->config.history, *on == '1');
	json_object_set_new(object, "is_paused", json_boolean(*on == '1'));
	return 0;
}

static int ask(struct question *question, struct api_answer *answer, json_t *object)
{
	const char *path = question->request->path;

	if (!strcmp(path, "export"))
		return answer_export(question, answer);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		if (!strcmp(path, answers[i].path))
			return answers[i].answer(question, object);
	}
	return fail(-ENOENT, "there is no such question");
}

/* The lists of stacks share the memory of a live history. */
static void reserve_names(struct api *api)
{
	size_t bytes = stack_names_bytes(&api->names);
	size_t most = history_max_bytes(api->config.history) / NAMES_PART;

	/* One question may take more, which the next one does not find any more. */
	if (api->config.is_live)
		history_reserve(api->config.history, bytes < most ? bytes : most);
}

static int ask_of_samples(struct api *api, const struct api_request *request,
			  struct api_answer *answer, json_t *object)
{
	struct question question;
	int err;

	if (request->is_post)
		return fail(-EPERM, "that is asked for by GET");
	api->idle_tidies = 0;
	stack_names_begin(&api->names, read_totals(api, 0).names_generation);
	err = question_init(&question, api, request);
	if (err)
		return err;
	err = ask(&question, answer, object);
	if (!err && !answer->body) {
		write_body(answer, question_text(&question, object));
		err = answer->body ? 0 : -ENOMEM;
	}
	question_deinit(&question);
	reserve_names(api);
	return err;
}

/* The lists stay as they are if there is no memory. */
static void tidy_names(struct api *api)
{
	struct history_view view;

	if (history_view_open(api->config.history, &view))
		return;
	stack_names_tidy(&api->names, &view);
	history_view_close(&view);
}

void api_tidy(struct api *api)
{
	if (api->config.is_live && ++api->idle_tidies > TIDIES_WITHOUT_QUESTION)
		stack_names_empty(&api->names);
	else
		tidy_names(api);
	reserve_names(api);
}

void api_answer(struct api *api, const struct api_request *request, struct api_answer *answer)
{
	json_t *object = json_object();
	int err;

	*answer = (struct api_answer){ .status = 200 };
	err = strcmp(request->path, "pause") ? ask_of_samples(api, request, answer, object) :
					       pause_history(api, request, object);
	if (err)
		write_error(answer, err);
	if (err || answer->body) {
		json_decref(object);
		return;
	}
	write_json(answer, object);
	if (!answer->body)
		write_error(answer, -ENOMEM);
}
