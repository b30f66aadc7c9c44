/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/api_facets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/hash128.h"

enum {
	/* Limit of each list. */
	ENTRIES_MAX = 200,
	CPUS_MAX = 8192,
};

struct facet_entry {
	/* A key of the history that has the entry; for CPUs the CPU's number. */
	uint32_t number;
	uint64_t count;
};

VECTOR_DEFINE(facet_entry_vector, struct facet_entry)

struct facet {
	struct facet_entry_vector entries;
	struct hash_map indexes;
};

enum facet_kind {
	FACET_PROCESSES,
	FACET_THREADS,
	FACET_CONTAINERS,
	FACET_HOSTS,
	FACET_KINDS,
	FACET_COUNT,
};

/* Keys of the history that differ in their stacks only, as far as the lists are concerned. */
struct facet_group {
	/* One of the keys. */
	uint32_t key;
	unsigned int misses;
	uint64_t count;
};

VECTOR_DEFINE(facet_group_vector, struct facet_group)

/* Equal strings and processes of a history are the same pointers. No padding. */
struct group_key {
	uint64_t process;
	uint64_t process_comm;
	uint64_t thread_comm;
	uint32_t pid;
	uint32_t tid;
	uint64_t misses;
};

struct facets {
	struct question *question;
	struct facet lists[FACET_COUNT];
	struct facet_group_vector groups;
	struct hash_map group_indexes;
	/* Samples by the kind of their leaf; TEXT_KIND_COUNT: without a frame. */
	uint64_t kinds[TEXT_KIND_COUNT + 1];
	/* Samples by key id, limited to the selected CPUs. */
	uint64_t *counts;
	uint64_t *cpus;
};

/* The selectors that belong to each list. */
static const unsigned int own_selectors[FACET_COUNT] = {
	[FACET_PROCESSES] = 1U << SELECT_PID | 1U << SELECT_COMM,
	[FACET_THREADS] = 1U << SELECT_TID | 1U << SELECT_THREAD,
	[FACET_CONTAINERS] = 1U << SELECT_CONTAINER,
	[FACET_HOSTS] = 1U << SELECT_HOST,
	[FACET_KINDS] = 1U << SELECT_KIND,
};

/*
 * Entries with equal keys are merged. Equal strings of a history are the same pointers, except for
 * hosts. No padding.
 */
struct entry_key {
	uint64_t text;
	uint64_t host_hash;
	uint32_t number;
	uint32_t other;
};

static int leaf_kind(struct facets *facets, uint32_t id, uint32_t *kind)
{
	struct stack_names *names = &facets->question->api->names;
	struct location_list list;
	int err = stack_names_list(names, &facets->question->view, id, &list);

	*kind = TEXT_KIND_COUNT;
	if (!err && list.count)
		*kind = stack_names_function(names, list.locations[list.count - 1])->kind;
	return err;
}

static int add_entry(struct facet *facet, const void *key, size_t key_bytes, uint32_t number,
		     uint64_t count)
{
	uint64_t index = facet->entries.count;
	int err;

	if (hash_map_find_bytes(&facet->indexes, key, key_bytes, &index)) {
		facet->entries.items[index].count += count;
		return 0;
	}
	err = hash_map_set_bytes(&facet->indexes, key, key_bytes, index);
	return err ? err :
		     facet_entry_vector_push(&facet->entries, (struct facet_entry){
								      .number = number,
								      .count = count,
							      });
}

/* Samples of profiles may have neither a process nor a thread. */
static bool is_listed(enum facet_kind list, const struct sample *key)
{
	return (list != FACET_PROCESSES || sample_has_process(key)) &&
	       (list != FACET_THREADS || sample_has_thread(key));
}

static int add_group(struct facets *facets, enum facet_kind list, const struct facet_group *group)
{
	const struct sample *key = history_view_key(&facets->question->view, group->key);
	struct facet *facet = &facets->lists[list];
	struct entry_key entry = { .number = key->pid };
	const char *text;

	if (!is_listed(list, key))
		return 0;
	if (list == FACET_CONTAINERS || list == FACET_HOSTS) {
		text = list == FACET_HOSTS ? sample_host(key) : sample_container(key);
		return add_entry(facet, text, strlen(text) + 1, group->key, group->count);
	}
	entry.host_hash = hash64_bytes(sample_host(key), strlen(sample_host(key)));
	entry.text = (uintptr_t)(list == FACET_THREADS ? key->thread_comm : key->process_comm);
	entry.other = list == FACET_THREADS ? key->tid : 0;
	return add_entry(facet, &entry, sizeof(entry), group->key, group->count);
}

static int count_samples(struct facets *facets)
{
	struct question *question = facets->question;
	const unsigned int cpu_bit = 1U << SELECT_CPU;
	struct history_sample sample;
	unsigned int misses;
	int more;

	question_seek(question, question->selection.from_ms, question->selection.to_ms);
	while ((more = question_next(question, &sample, &misses)) > 0) {
		if (!(misses & cpu_bit))
			facets->counts[sample.key] += (uint64_t)sample.value;
		if (!(misses & ~cpu_bit) && sample.cpu < CPUS_MAX)
			facets->cpus[sample.cpu] += (uint64_t)sample.value;
	}
	return more;
}

static int count_group(struct facets *facets, uint32_t id, unsigned int misses)
{
	const struct sample *key = history_view_key(&facets->question->view, id);
	const struct group_key group_key = {
		.process = (uintptr_t)key->process,
		.process_comm = (uintptr_t)key->process_comm,
		.thread_comm = (uintptr_t)key->thread_comm,
		.pid = key->pid,
		.tid = key->tid,
		.misses = misses,
	};
	uint64_t index = facets->groups.count;
	int err;

	if (hash_map_find_bytes(&facets->group_indexes, &group_key, sizeof(group_key), &index)) {
		facets->groups.items[index].count += facets->counts[id];
		return 0;
	}
	err = hash_map_set_bytes(&facets->group_indexes, &group_key, sizeof(group_key), index);
	return err ? err :
		     facet_group_vector_push(&facets->groups,
					     (struct facet_group){ .key = id,
								   .misses = misses,
								   .count = facets->counts[id] });
}

/* Counts the keys by kind, and by what else the lists have of them. */
static int count_keys(struct facets *facets)
{
	const struct question *question = facets->question;
	uint32_t kind;
	int err = 0;

	for (uint32_t i = 0; i < question->view.key_count && !err; i++) {
		if (!facets->counts[i])
			continue;
		/* misses[i] is known since the key was counted. */
		err = count_group(facets, i, question->misses[i]);
		if (err || question->misses[i] & ~own_selectors[FACET_KINDS])
			continue;
		err = leaf_kind(facets, i, &kind);
		if (!err)
			facets->kinds[kind] += facets->counts[i];
	}
	return err;
}

static int fill_lists(struct facets *facets)
{
	int err = count_keys(facets);

	for (size_t i = 0; i < facets->groups.count && !err; i++) {
		const struct facet_group *group = &facets->groups.items[i];

		for (enum facet_kind list = 0; list < FACET_COUNT && !err; list++)
			if (list != FACET_KINDS && !(group->misses & ~own_selectors[list]))
				err = add_group(facets, list, group);
	}
	/* A stack without a frame has no kind. */
	for (uint32_t kind = 0; kind < TEXT_KIND_COUNT && !err; kind++)
		if (facets->kinds[kind])
			err = add_entry(&facets->lists[FACET_KINDS], &kind, sizeof(kind), kind,
					facets->kinds[kind]);
	return err;
}

/* --- JSON --- */

static int compare_entries(const void *a, const void *b)
{
	const struct facet_entry *one = a, *other = b;

	if (one->count != other->count)
		return one->count < other->count ? 1 : -1;
	return (one->number > other->number) - (one->number < other->number);
}

/* Leaves a number out that is not known. */
static void put_known(json_t *object, const char *key, uint32_t number)
{
	if (number != SAMPLE_NO_NUMBER)
		put_number(object, key, number);
}

static json_t *entry_json(const struct facets *facets, enum facet_kind list,
			  const struct facet_entry *entry)
{
	const struct sample *key = NULL;
	json_t *object = json_object();

	if (list != FACET_KINDS)
		key = history_view_key(&facets->question->view, entry->number);
	switch (list) {
	case FACET_PROCESSES:
		put_known(object, "pid", key->pid);
		put_text(object, "comm", key->process_comm);
		put_text(object, "container", sample_container(key));
		put_text(object, "host", sample_host(key));
		break;
	case FACET_THREADS:
		put_known(object, "tid", key->tid);
		put_known(object, "pid", key->pid);
		put_text(object, "name", key->thread_comm);
		put_text(object, "host", sample_host(key));
		break;
	case FACET_CONTAINERS:
		put_text(object, "id", sample_container(key));
		break;
	case FACET_HOSTS:
		put_text(object, "host", sample_host(key));
		break;
	default:
		put_text(object, "kind", text_kind_name((uint8_t)entry->number));
	}
	put_value(facets->question, object, "count", entry->count);
	return object;
}

static void put_list(struct facets *facets, enum facet_kind list, const char *name, json_t *object)
{
	struct facet_entry_vector *entries = &facets->lists[list].entries;
	json_t *array = json_array();
	char total_name[32];

	if (entries->count)
		qsort(entries->items, entries->count, sizeof(entries->items[0]), compare_entries);
	for (size_t i = 0; i < entries->count && i < ENTRIES_MAX; i++)
		json_array_append_new(array, entry_json(facets, list, &entries->items[i]));
	json_object_set_new(object, name, array);
	snprintf(total_name, sizeof(total_name), "%s_total", name);
	put_number(object, total_name, entries->count);
}

/* CPUs are sorted by number: the page shows them in a row. */
static void put_cpus(const struct facets *facets, json_t *object)
{
	json_t *array = json_array();
	size_t total = 0;

	for (size_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		json_t *entry;

		if (!facets->cpus[cpu] || total++ >= ENTRIES_MAX)
			continue;
		entry = json_object();
		put_number(entry, "cpu", cpu);
		put_value(facets->question, entry, "count", facets->cpus[cpu]);
		json_array_append_new(array, entry);
	}
	json_object_set_new(object, "cpus", array);
	put_number(object, "cpus_total", total);
}

static void facets_deinit(struct facets *facets)
{
	for (int list = 0; list < FACET_COUNT; list++) {
		facet_entry_vector_deinit(&facets->lists[list].entries);
		hash_map_deinit(&facets->lists[list].indexes);
	}
	facet_group_vector_deinit(&facets->groups);
	hash_map_deinit(&facets->group_indexes);
	free(facets->counts);
	free(facets->cpus);
}

int answer_facets(struct question *question, json_t *object)
{
	_cleanup_(facets_deinit) struct facets facets = {
		.question = question,
		.counts = calloc(question->view.key_count + 1, sizeof(uint64_t)),
		.cpus = calloc(CPUS_MAX, sizeof(uint64_t)),
	};
	int err = facets.counts && facets.cpus ? count_samples(&facets) : -ENOMEM;

	if (!err)
		err = fill_lists(&facets);
	if (err)
		return err;
	put_list(&facets, FACET_PROCESSES, "processes", object);
	put_list(&facets, FACET_THREADS, "threads", object);
	put_list(&facets, FACET_CONTAINERS, "containers", object);
	put_list(&facets, FACET_HOSTS, "hosts", object);
	put_list(&facets, FACET_KINDS, "kinds", object);
	put_cpus(&facets, object);
	return 0;
}
