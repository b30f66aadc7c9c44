/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/question.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/hash128.h"
#include "lib/base/significance.h"

#define MISSES_UNKNOWN UINT16_MAX

_Static_assert(SELECTOR_COUNT < 16, "a bit each");

/* --- the samples --- */

static uint64_t time_of(const struct question *question, uint64_t ms)
{
	uint64_t epoch = question->api->config.epoch_monotonic_ns;

	return ms >= (UINT64_MAX - epoch) / NS_PER_MS ? UINT64_MAX : epoch + ms * NS_PER_MS;
}

uint64_t question_ms(const struct question *question, uint64_t time_ns)
{
	uint64_t epoch = question->api->config.epoch_monotonic_ns;

	return time_ns > epoch ? (time_ns - epoch) / NS_PER_MS : 0;
}

uint64_t question_range_ms(const struct question *question, uint64_t from_ms, uint64_t to_ms)
{
	if (from_ms < question->first_ms)
		from_ms = question->first_ms;
	if (to_ms > question->end_ms)
		to_ms = question->end_ms;
	return to_ms > from_ms ? to_ms - from_ms : 1;
}

uint64_t question_now_ms(const struct question *question)
{
	const struct api_config *config = &question->api->config;

	return config->is_live && !history_is_paused(config->history) ?
		       question_ms(question, clock_monotonic_ns()) :
		       question->end_ms;
}

const struct profile_facts *api_types(const struct api *api)
{
	if (api->config.facts)
		return api->config.facts;
	return api->config.weight ? &api->weight_facts : NULL;
}

uint8_t question_origin(const struct question *question)
{
	const struct api_config *config = &question->api->config;

	if (config->facts)
		return (uint8_t)question->type;
	return question->type ? config->weight : ORIGIN_CLOCK;
}

bool question_has_values(const struct question *question)
{
	return question->api->config.facts || question->type;
}

const struct value_type *question_type(const struct question *question)
{
	static const struct value_type samples = { .type = "samples", .unit = "count" };
	const struct profile_facts *types = api_types(question->api);

	return types ? &types->types[question->type] : &samples;
}

static int choose_type(struct question *question)
{
	const struct profile_facts *types = api_types(question->api);
	const char *wanted = request_parameter(question->request, "type");

	if (!types)
		return 0;
	question->type = types->shown_type;
	if (wanted && *wanted && profile_facts_find_type(types, wanted, &question->type))
		return fail(-EINVAL, "the profile has no such type of values");
	return 0;
}

/* NULL without memory. */
static uint16_t *unknown_misses(const struct question *question)
{
	uint16_t *misses = calloc(question->view.key_count + 1, sizeof(uint16_t));

	if (misses)
		memset(misses, 0xff, question->view.key_count * sizeof(uint16_t));
	return misses;
}

int question_init(struct question *question, struct api *api, const struct api_request *request)
{
	struct history_facts facts;
	int err;

	*question = (struct question){ .api = api, .request = request };
	err = selection_init(&question->selection, request);
	if (!err)
		err = choose_type(question);
	if (!err)
		err = history_view_open(api->config.history, &question->view);
	if (!err) {
		stack_names_tidy(&api->names, &question->view);
		question->misses = unknown_misses(question);
		err = question->misses ? 0 : -ENOMEM;
	}
	if (err) {
		question_deinit(question);
		return err;
	}
	history_facts(api->config.history, &facts);
	if (!facts.samples && api->config.is_live)
		facts.first_ns = facts.last_ns = clock_monotonic_ns();
	question->first_ms = question_ms(question, facts.first_ns);
	question->end_ms = question_ms(question, facts.last_ns) + 1;
	return 0;
}

void question_deinit(struct question *question)
{
	struct symbol_lookup *lookup = question->api->config.lookup;

	history_view_close(&question->view);
	selection_deinit(&question->selection);
	free(question->misses);
	text_builder_deinit(&question->members);
	if (lookup && lookup->ops->rest)
		lookup->ops->rest(lookup);
}

char *question_text(const struct question *question, const json_t *object)
{
	const struct text_builder *members = &question->members;
	char *text = json_dumps(object, JSON_COMPACT), *longer;
	size_t length = text ? strlen(text) - 1 : 0;

	if (!text || (!members->length && !members->failed))
		return text;
	longer = members->failed ? NULL : realloc(text, length + members->length + 2);
	if (!longer) {
		free(text);
		return NULL;
	}
	/* Before the brace at the end. */
	memcpy(longer + length, members->text, members->length);
	memcpy(longer + length + members->length, "}", 2);
	return longer;
}

void question_seek(struct question *question, uint64_t from_ms, uint64_t to_ms)
{
	history_view_seek(&question->view, time_of(question, from_ms), time_of(question, to_ms));
}

/* True if the selector's values include the name of a function of @list. */
static bool list_has_function(const struct question *question, enum selector selector,
			      const struct location_list *list)
{
	const struct stack_names *names = &question->api->names;

	for (size_t i = 0; i < list->count; i++) {
		uint32_t name = stack_names_function(names, list->locations[i])->name;

		if (selection_has_text(&question->selection, selector,
				       stack_names_text(names, name)))
			return true;
	}
	return false;
}

/* Evaluates the selectors that depend on the names in the key's stack. */
static int misses_by_stack(struct question *question, uint32_t id, unsigned int *misses)
{
	const struct selection *selection = &question->selection;
	const struct stack_names *names = &question->api->names;
	bool by_kind = selection->values.texts[SELECT_KIND].count;
	bool by_function = selection->values.texts[SELECT_FUNCTION].count;
	bool by_begin = selection->values.texts[SELECT_BEGIN].count;
	struct location_list list;
	const char *kind = "";
	int err;

	if (!by_kind && !by_function && !by_begin)
		return 0;
	err = stack_names_list(&question->api->names, &question->view, id, &list);
	if (err)
		return err;
	if (list.count)
		kind = text_kind_name(
			stack_names_function(names, list.locations[list.count - 1])->kind);
	if (!selection_has_text(selection, SELECT_KIND, kind))
		*misses |= 1U << SELECT_KIND;
	if (by_function && !list_has_function(question, SELECT_FUNCTION, &list))
		*misses |= 1U << SELECT_FUNCTION;
	if (by_begin && !list_has_function(question, SELECT_BEGIN, &list))
		*misses |= 1U << SELECT_BEGIN;
	return 0;
}

static int key_misses(struct question *question, uint32_t id, unsigned int *misses)
{
	int err;

	*misses = question->misses[id];
	if (*misses != MISSES_UNKNOWN)
		return 0;
	*misses = selection_misses(&question->selection, history_view_key(&question->view, id));
	err = misses_by_stack(question, id, misses);
	if (!err)
		question->misses[id] = (uint16_t)*misses;
	return err;
}

/* False if the sample has a value of another type. */
static bool has_type(const struct question *question, const struct history_sample *sample)
{
	return question->all_types || !api_types(question->api) ||
	       history_view_key(&question->view, sample->key)->origin == question_origin(question);
}

int question_next(struct question *question, struct history_sample *sample, unsigned int *misses)
{
	int err;

	do {
		if (!history_view_next(&question->view, sample))
			return 0;
	} while (!has_type(question, sample));
	err = key_misses(question, sample->key, misses);
	if (err)
		return err;
	if (!selection_has_number(&question->selection, SELECT_CPU, sample->cpu))
		*misses |= 1U << SELECT_CPU;
	return 1;
}

int question_count(struct question *question, uint64_t from_ms, uint64_t to_ms, uint64_t **counts,
		   uint64_t *total)
{
	struct history_sample sample;
	unsigned int misses;
	int more;

	*counts = calloc(question->view.key_count + 1, sizeof(**counts));
	if (!*counts)
		return -ENOMEM;
	question_seek(question, from_ms, to_ms);
	while ((more = question_next(question, &sample, &misses)) > 0) {
		if (misses)
			continue;
		(*counts)[sample.key] += (uint64_t)sample.value;
		*total += (uint64_t)sample.value;
	}
	return more;
}

/* --- stacks --- */

enum root_level {
	ROOT_NONE,
	ROOT_PROCESS,
	ROOT_THREAD,
};

static int parse_root(const struct api_request *request, enum root_level *root)
{
	const char *text = request_parameter(request, "root");

	if (!text || !strcmp(text, "process"))
		*root = ROOT_PROCESS;
	else if (!strcmp(text, "thread"))
		*root = ROOT_THREAD;
	else if (!strcmp(text, "none"))
		*root = ROOT_NONE;
	else
		return fail(-EINVAL, "root is process, thread or none");
	return 0;
}

/* Stacks with equal keys are one stack. Equal lists and texts are the same pointers. No padding. */
struct stack_key {
	uint64_t list;
	uint64_t process_comm;
	uint64_t thread_comm;
};

VECTOR_DEFINE(stack_key_vector, struct stack_key)

/* The stacks that were found so far, by their keys: a hash table of indexes plus 1, with at least half of its slots free. */
struct stack_groups {
	struct stack_key_vector keys;
	uint32_t *slots;
	size_t mask;
	/* The locations of the levels above the stacks, by the pointers to the names of processes and of threads. */
	struct hash_map processes;
	struct hash_map threads;
};

/* stack_names_level() for each name once. */
static int push_level(struct asked_stack *stack, struct stack_names *names, struct hash_map *levels,
		      enum text_kind kind, const char *name)
{
	uint32_t *location = &stack->levels[stack->level_count++];
	uint64_t known;
	int err;

	if (hash_map_find(levels, (uintptr_t)name, &known)) {
		*location = (uint32_t)known;
		return 0;
	}
	err = stack_names_level(names, kind, name, location);
	return err ? err : hash_map_set(levels, (uintptr_t)name, *location);
}

static int add_stack(struct asked_stacks *asked, struct question *question,
		     struct stack_groups *groups, const struct sample *key,
		     const struct location_list *list, enum root_level root)
{
	struct asked_stack stack = { .list = *list };
	struct stack_names *names = &question->api->names;
	int err = transforms_learn(&asked->transforms, names, &stack.list);

	/* Samples of profiles may have neither a process nor a thread. */
	if (!err && root >= ROOT_PROCESS && sample_has_process(key))
		err = push_level(&stack, names, &groups->processes, TEXT_PROCESS,
				 key->process_comm);
	if (!err && root >= ROOT_THREAD && sample_has_thread(key))
		err = push_level(&stack, names, &groups->threads, TEXT_THREAD, key->thread_comm);
	return err ? err : asked_stack_vector_push(&asked->stacks, stack);
}

static int stack_groups_init(struct stack_groups *groups, uint32_t key_count)
{
	size_t capacity = 16;

	while (capacity < 2 * (size_t)key_count)
		capacity *= 2;
	*groups = (struct stack_groups){
		.slots = calloc(capacity, sizeof(uint32_t)),
		.mask = capacity - 1,
	};
	return groups->slots ? 0 : -ENOMEM;
}

static void stack_groups_deinit(struct stack_groups *groups)
{
	stack_key_vector_deinit(&groups->keys);
	hash_map_deinit(&groups->processes);
	hash_map_deinit(&groups->threads);
	free(groups->slots);
}

/* Sets *@stack to the index of the stack with @key, which may be a new one. -ENOMEM. */
static int find_stack(struct stack_groups *groups, const struct stack_key *key, uint32_t *stack)
{
	size_t slot = hash64_bytes(key, sizeof(*key)) & groups->mask;
	int err;

	while (groups->slots[slot]) {
		*stack = groups->slots[slot] - 1;
		if (!memcmp(&groups->keys.items[*stack], key, sizeof(*key)))
			return 0;
		slot = (slot + 1) & groups->mask;
	}
	*stack = (uint32_t)groups->keys.count;
	err = stack_key_vector_push(&groups->keys, *key);
	if (!err)
		groups->slots[slot] = (uint32_t)groups->keys.count;
	return err;
}

/* Sorts the keys by their stacks. */
static int sort_keys(struct asked_stacks *asked)
{
	struct asked_key_vector sorted = { 0 };
	_cleanup_(free_pointer) size_t *ends = calloc(asked->stacks.count + 1, sizeof(*ends));
	size_t sum = 0;

	if (!ends || asked_key_vector_reserve(&sorted, asked->keys.count))
		return -ENOMEM;
	for (size_t i = 0; i < asked->keys.count; i++)
		ends[asked->keys.items[i].stack]++;
	for (size_t i = 0; i < asked->stacks.count; i++) {
		sum += ends[i];
		ends[i] = sum;
	}
	for (size_t i = asked->keys.count; i-- > 0;)
		sorted.items[--ends[asked->keys.items[i].stack]] = asked->keys.items[i];
	sorted.count = asked->keys.count;
	asked_key_vector_deinit(&asked->keys);
	asked->keys = sorted;
	return 0;
}

/* Adds the samples of a key of the history to its stack. */
static int merge_key(struct asked_stacks *asked, struct question *question,
		     struct stack_groups *groups, const struct asked_key *merged,
		     uint64_t base_count, enum root_level root)
{
	const struct sample *key = history_view_key(&question->view, merged->id);
	bool by_process = root >= ROOT_PROCESS || transforms_fold(&asked->transforms, FOLD_UNNAMED);
	struct stack_key stack_key = {
		.process_comm = by_process ? (uintptr_t)key->process_comm : 0,
		.thread_comm = root >= ROOT_THREAD ? (uintptr_t)key->thread_comm : 0,
	};
	struct asked_key added = *merged;
	struct location_list list;
	int err = stack_names_list(&question->api->names, &question->view, merged->id, &list);

	if (err)
		return err;
	stack_key.list = (uintptr_t)list.locations;
	err = find_stack(groups, &stack_key, &added.stack);
	if (!err && added.stack == asked->stacks.count)
		err = add_stack(asked, question, groups, key, &list, root);
	if (err)
		return err;
	asked->stacks.items[added.stack].count += merged->count;
	asked->stacks.items[added.stack].base_count += base_count;
	return asked_key_vector_push(&asked->keys, added);
}

static int merge_keys(struct asked_stacks *asked, struct question *question, const uint64_t *counts,
		      const uint64_t *base_counts, enum root_level root)
{
	_cleanup_(stack_groups_deinit) struct stack_groups groups = { 0 };
	int err = stack_groups_init(&groups, question->view.key_count);

	for (uint32_t i = 0; i < question->view.key_count && !err; i++) {
		const struct asked_key key = { .id = i, .count = counts[i] };
		uint64_t base_count = base_counts ? base_counts[i] : 0;

		if (counts[i] || base_count)
			err = merge_key(asked, question, &groups, &key, base_count, root);
	}
	return err ? err : sort_keys(asked);
}

/* Changes all stacks, once all of them are known. */
static int transform_stacks(struct asked_stacks *asked, struct question *question)
{
	int err = 0;

	for (size_t i = 0, stack = SIZE_MAX; i < asked->keys.count && !err; i++) {
		const struct asked_key *key = &asked->keys.items[i];

		if (key->stack == stack)
			continue;
		stack = key->stack;
		err = transforms_apply(&asked->transforms, &question->api->names,
				       history_view_key(&question->view, key->id)->process_comm,
				       &asked->stacks.items[stack].list);
	}
	return err;
}

/* Counts the samples of the base, which values of its own may select. */
static int count_base(struct question *question, uint64_t **counts, uint64_t *total)
{
	const struct selection own = question->selection;
	uint16_t *own_misses = question->misses;
	int err;

	if (own.base_selectors) {
		question->misses = unknown_misses(question);
		if (!question->misses) {
			question->misses = own_misses;
			return -ENOMEM;
		}
	}
	question->selection = selection_base(&own);
	err = question_count(question, own.base_from_ms, own.base_to_ms, counts, total);
	question->selection = own;
	if (question->misses != own_misses)
		free(question->misses);
	question->misses = own_misses;
	return err;
}

int asked_stacks_init(struct asked_stacks *asked, struct question *question)
{
	_cleanup_(free_pointer) uint64_t *counts = NULL;
	_cleanup_(free_pointer) uint64_t *base_counts = NULL;
	const struct selection *selection = &question->selection;
	const char *lines = request_parameter(question->request, "lines");
	const char *inverted = request_parameter(question->request, "inverted");
	enum root_level root = ROOT_NONE;
	int err;

	*asked = (struct asked_stacks){
		.with_lines = lines && !strcmp(lines, "1"),
		.is_inverted = inverted && !strcmp(inverted, "1"),
	};
	err = transforms_init(&asked->transforms, question->request);
	if (!err)
		err = request_unit(question->request, "colour", &asked->colour);
	if (!err)
		err = parse_root(question->request, &root);
	if (!err)
		err = question_count(question, selection->from_ms, selection->to_ms, &counts,
				     &asked->total);
	if (!err && selection->has_base)
		err = count_base(question, &base_counts, &asked->base_total);
	if (!err)
		err = merge_keys(asked, question, counts, base_counts, root);
	if (!err && transforms_change_stacks(&asked->transforms))
		err = transform_stacks(asked, question);
	if (err)
		asked_stacks_deinit(asked);
	return err;
}

void asked_stacks_deinit(struct asked_stacks *asked)
{
	asked_stack_vector_deinit(&asked->stacks);
	asked_key_vector_deinit(&asked->keys);
	transforms_deinit(&asked->transforms);
}

uint32_t asked_id(const struct asked_stacks *asked, const struct question *question,
		  uint32_t location)
{
	const struct stack_location *found = &question->api->names.locations.items[location];

	return asked->with_lines ? found->position : found->function;
}

struct stack_location asked_location(const struct asked_stacks *asked,
				     const struct stack_names *names, uint32_t id)
{
	return asked->with_lines ? names->locations.items[id] :
				   (struct stack_location){ .function = id };
}

/* --- JSON --- */

void put_number(json_t *object, const char *key, uint64_t number)
{
	json_object_set_new(object, key, json_integer((json_int_t)number));
}

json_t *text_json(const char *text)
{
	struct text_builder clean = { 0 };
	json_t *json;

	text_builder_append_name(&clean, text);
	json = json_string(text_builder_text(&clean));
	text_builder_deinit(&clean);
	return json;
}

void put_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, text_json(text));
}

json_t *type_json(const struct value_type *type)
{
	json_t *object = json_object();

	put_text(object, "type", type->type);
	put_text(object, "unit", type->unit);
	return object;
}

void put_type(const struct question *question, json_t *object)
{
	json_object_set_new(object, "type", type_json(question_type(question)));
}

json_t *value_json(const struct question *question, uint64_t sum)
{
	const struct value_type *type = question_type(question);

	if (!type->decimals)
		return json_integer((json_int_t)sum);
	return json_real((double)(int64_t)sum / (double)value_type_scale(type));
}

void put_value(const struct question *question, json_t *object, const char *key, uint64_t sum)
{
	json_object_set_new(object, key, value_json(question, sum));
}

void put_significance(json_t *object, const char *key, uint64_t count, uint64_t total,
		      uint64_t base_count, uint64_t base_total)
{
	json_object_set_new(object, key,
			    json_real(share_significance(count, total, base_count, base_total)));
}
