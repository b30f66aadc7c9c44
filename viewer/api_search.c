/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/api_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/hash128.h"
#include "viewer/name_pattern.h"
#include "viewer/stack_set.h"

enum {
	SEARCH_NODES = 2000,
	SEARCH_NODES_MAX = 10000,
	PROCESSES_MAX = 200,
};

enum verdict { VERDICT_UNKNOWN, VERDICT_MATCHES, VERDICT_MISSES };

/* The samples of a process; @key is one of its keys in the history. */
struct searched_process {
	uint32_t key;
	uint64_t samples;
	uint64_t matched;
};

VECTOR_DEFINE(process_vector, struct searched_process)

/* Equal strings of a history are the same pointers, except for hosts. No padding. */
struct searched_identity {
	uint64_t comm;
	uint64_t host_hash;
	uint64_t pid;
};

struct search {
	struct question *question;
	struct name_pattern *pattern;
	/* Of each function, by id. */
	uint8_t *verdicts;
	struct process_vector processes;
	struct hash_map process_indexes;
	struct stack_set hits;
};

static void search_deinit(struct search *search)
{
	name_pattern_destroy(search->pattern);
	free(search->verdicts);
	process_vector_deinit(&search->processes);
	hash_map_deinit(&search->process_indexes);
	stack_set_deinit(&search->hits);
}

static bool matches(struct search *search, uint32_t location)
{
	const struct stack_names *names = &search->question->api->names;
	uint32_t function = names->locations.items[location].function;
	uint8_t *verdict = &search->verdicts[function];

	if (*verdict == VERDICT_UNKNOWN)
		*verdict = name_pattern_matches(
				   search->pattern,
				   stack_names_text(names, names->functions.items[function].name)) ?
				   VERDICT_MATCHES :
				   VERDICT_MISSES;
	return *verdict == VERDICT_MATCHES;
}

/* The number of frames and levels of @stack up to the outermost match; 0 if nothing matches. */
static size_t find_match(struct search *search, const struct asked_stack *stack)
{
	for (size_t i = 0; i < stack->level_count; i++)
		if (matches(search, stack->levels[i]))
			return i + 1;
	for (size_t i = 0; i < stack->list.count; i++)
		if (matches(search, stack->list.locations[i]))
			return stack->level_count + i + 1;
	return 0;
}

/* --- processes --- */

static int count_in_process(struct search *search, uint32_t id, uint64_t samples, bool is_match)
{
	const struct sample *key = history_view_key(&search->question->view, id);
	struct searched_identity identity = {
		.comm = (uintptr_t)key->process_comm,
		.host_hash = hash64_bytes(sample_host(key), strlen(sample_host(key))),
		.pid = key->pid,
	};
	uint64_t index = search->processes.count;
	struct searched_process *process;
	int err = 0;

	if (!hash_map_find_bytes(&search->process_indexes, &identity, sizeof(identity), &index)) {
		err = hash_map_set_bytes(&search->process_indexes, &identity, sizeof(identity),
					 index);
		if (!err)
			err = process_vector_push(&search->processes,
						  (struct searched_process){ .key = id });
	}
	if (err)
		return err;
	process = &search->processes.items[index];
	process->samples += samples;
	process->matched += is_match ? samples : 0;
	return 0;
}

static int compare_processes(const void *a, const void *b)
{
	const struct searched_process *one = a, *other = b;

	if (one->matched != other->matched)
		return one->matched < other->matched ? 1 : -1;
	return (one->key > other->key) - (one->key < other->key);
}

static void put_processes(struct search *search, json_t *object)
{
	struct process_vector *processes = &search->processes;
	json_t *array = json_array();
	size_t with_matches = 0;

	if (processes->count)
		qsort(processes->items, processes->count, sizeof(processes->items[0]),
		      compare_processes);
	for (size_t i = 0; i < processes->count; i++) {
		const struct searched_process *process = &processes->items[i];
		const struct sample *key = history_view_key(&search->question->view, process->key);
		json_t *row;

		if (!process->matched || with_matches++ >= PROCESSES_MAX)
			continue;
		row = json_object();
		put_number(row, "pid", key->pid);
		put_text(row, "comm", key->process_comm);
		put_text(row, "host", sample_host(key));
		put_value(search->question, row, "samples", process->samples);
		put_value(search->question, row, "matched", process->matched);
		json_array_append_new(array, row);
	}
	json_object_set_new(object, "processes", array);
	put_number(object, "processes_total", with_matches);
}

/* --- stacks --- */

/* Adds the stack up to its outermost match. */
static int add_hit(struct search *search, const struct asked_stacks *asked,
		   const struct asked_stack *stack, size_t length)
{
	int err = stack_set_begin(&search->hits, stack);

	for (size_t i = 0; i < length && !err; i++)
		err = stack_set_push(&search->hits, asked, search->question,
				     i < stack->level_count ?
					     stack->levels[i] :
					     stack->list.locations[i - stack->level_count]);
	return err;
}

static int search_stacks(struct search *search, const struct asked_stacks *asked, uint64_t *matched)
{
	size_t length = 0;
	int err = 0;

	for (size_t i = 0; i < asked->keys.count && !err; i++) {
		const struct asked_key *key = &asked->keys.items[i];
		const struct asked_stack *stack = &asked->stacks.items[key->stack];

		/* The keys of a stack are adjacent. */
		if (!i || key->stack != key[-1].stack) {
			length = find_match(search, stack);
			*matched += length ? stack->count : 0;
			err = length ? add_hit(search, asked, stack, length) : 0;
		}
		if (!err)
			err = count_in_process(search, key->id, key->count, length > 0);
	}
	return err;
}

static int search_samples(struct search *search, uint64_t max_nodes, json_t *object)
{
	_cleanup_(asked_stacks_deinit) struct asked_stacks asked = { 0 };
	struct question *question = search->question;
	uint64_t matched = 0;
	int err = asked_stacks_init(&asked, question);

	if (err)
		return err;
	search->verdicts = calloc(question->api->names.functions.count + 1, 1);
	if (!search->verdicts)
		return -ENOMEM;
	err = search_stacks(search, &asked, &matched);
	if (err)
		return err;
	put_value(question, object, "total", asked.total);
	put_value(question, object, "matched", matched);
	put_processes(search, object);
	stack_set_finish(&search->hits);
	return stack_set_put_tree(&search->hits, &asked, question, max_nodes, "all", "hits");
}

int answer_search(struct question *question, json_t *object)
{
	const char *text = request_parameter(question->request, "text");
	_cleanup_(search_deinit) struct search search = { .question = question };
	uint64_t max_nodes;
	int err = request_number(question->request, "max_nodes", 1, SEARCH_NODES_MAX, SEARCH_NODES,
				 &max_nodes);

	if (!err && (!text || !*text))
		err = fail(-EINVAL, "text is what to search for");
	if (!err)
		err = name_pattern_create(text, &search.pattern);
	return err ? err : search_samples(&search, max_nodes, object);
}
