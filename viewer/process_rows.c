/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/process_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/hash128.h"

static const char *const grouping_names[ROW_GROUPING_COUNT] = {
	[ROWS_BY_PROCESS] = "process",	   [ROWS_BY_NAME] = "name", [ROWS_BY_UNIT] = "unit",
	[ROWS_BY_CONTAINER] = "container", [ROWS_BY_USER] = "user", [ROWS_BY_PARENT] = "parent",
	[ROWS_BY_THREAD] = "thread",	   [ROWS_BY_CPU] = "cpu",
};

const char *const row_column_names[ROW_COLUMN_COUNT] = {
	[ROW_NAME] = "name",	 [ROW_PID] = "pid",	  [ROW_COMMAND_LINE] = "command_line",
	[ROW_USER] = "user",	 [ROW_UNIT] = "unit",	  [ROW_CONTAINER] = "container",
	[ROW_PARENT] = "parent", [ROW_THREAD] = "thread", [ROW_HOST] = "host",
};

/* --- columns --- */

int row_column_by_name(const char *name, size_t length)
{
	for (int column = 0; column < ROW_COLUMN_COUNT; column++)
		if (strlen(row_column_names[column]) == length &&
		    !memcmp(row_column_names[column], name, length))
			return column;
	return -1;
}

/* "NAME NUMBER", as far as they are known. */
static const char *name_and_number(const char *name, uint32_t number, uint32_t unknown,
				   char text[ROW_TEXT_BYTES])
{
	if (number == unknown)
		return name;
	snprintf(text, ROW_TEXT_BYTES, "%s%s%" PRIu32, name, *name ? " " : "", number);
	return text;
}

static const char *parent_comm(const struct sample *key)
{
	return key->process ? key->process->parent_comm : "";
}

const char *row_column_text(const struct question *question, const struct sample *key,
			    enum row_column column, char text[ROW_TEXT_BYTES])
{
	const struct process_info *info = key->process;

	switch (column) {
	case ROW_NAME:
		return key->process_comm;
	case ROW_PID:
		return name_and_number("", key->pid, SAMPLE_NO_NUMBER, text);
	case ROW_COMMAND_LINE:
		return info && question->api->config.shows_command_lines ? info->command_line : "";
	case ROW_USER:
		return sample_user(key);
	case ROW_UNIT:
		return sample_unit(key);
	case ROW_CONTAINER:
		return sample_container(key);
	case ROW_PARENT:
		return name_and_number(parent_comm(key), sample_parent(key), 0, text);
	case ROW_THREAD:
		return name_and_number(key->thread_comm, key->tid, SAMPLE_NO_NUMBER, text);
	case ROW_HOST:
	default:
		return sample_host(key);
	}
}

/* --- filters --- */

static int add_filter(struct process_rows *rows, const char *text)
{
	const char *colon = strchr(text, ':');
	struct row_filter *filter = &rows->filters[rows->filter_count];
	int column = colon ? row_column_by_name(text, (size_t)(colon - text)) : -1;
	int err;

	/* Columns of numbers are about whole rows (api_processes.c). */
	if (column < 0 || !colon[1])
		return 0;
	if (rows->filter_count == ROW_FILTERS_MAX)
		return fail(-EINVAL, "at most %d filters of columns", ROW_FILTERS_MAX);
	err = name_pattern_create(colon + 1, &filter->pattern);
	if (err)
		return err;
	filter->column = (enum row_column)column;
	rows->filter_count++;
	return 0;
}

static bool passes(const struct process_rows *rows, const struct sample *key)
{
	char text[ROW_TEXT_BYTES];

	for (size_t i = 0; i < rows->filter_count; i++) {
		const struct row_filter *filter = &rows->filters[i];

		if (!name_pattern_matches(filter->pattern, row_column_text(rows->question, key,
									   filter->column, text)))
			return false;
	}
	return true;
}

/* --- rows --- */

/* Properties that all samples of a row share. No padding. */
struct row_identity {
	uint64_t text_hash;
	uint64_t host_hash;
	uint32_t number;
	uint32_t other;
};

static uint64_t text_hash(const char *text)
{
	return hash64_bytes(text, strlen(text));
}

static uint64_t identify(const struct process_rows *rows, const struct sample *key, uint32_t cpu)
{
	struct row_identity identity = { 0 };

	switch (rows->grouping) {
	case ROWS_BY_PROCESS:
		identity.text_hash = text_hash(key->process_comm);
		identity.host_hash = text_hash(sample_host(key));
		identity.number = key->pid;
		break;
	case ROWS_BY_THREAD:
		identity.text_hash = text_hash(key->thread_comm);
		identity.host_hash = text_hash(sample_host(key));
		identity.number = key->tid;
		identity.other = key->pid;
		break;
	case ROWS_BY_PARENT:
		identity.host_hash = text_hash(sample_host(key));
		identity.number = sample_parent(key);
		break;
	case ROWS_BY_CPU:
		identity.number = cpu;
		break;
	case ROWS_BY_UNIT:
		identity.text_hash = text_hash(sample_unit(key));
		break;
	case ROWS_BY_CONTAINER:
		identity.text_hash = text_hash(sample_container(key));
		break;
	case ROWS_BY_USER:
		identity.text_hash = text_hash(sample_user(key));
		break;
	default:
		identity.text_hash = text_hash(key->process_comm);
	}
	return hash64_bytes(&identity, sizeof(identity));
}

/* Compares what texts are made of: there can be many keys. */
static bool differs(const struct question *question, const struct sample *one,
		    const struct sample *other, enum row_column column)
{
	switch (column) {
	case ROW_PID:
		return one->pid != other->pid;
	case ROW_PARENT:
		return sample_parent(one) != sample_parent(other) ||
		       strcmp(parent_comm(one), parent_comm(other)) != 0;
	case ROW_THREAD:
		return one->tid != other->tid || strcmp(one->thread_comm, other->thread_comm) != 0;
	default:
		return strcmp(row_column_text(question, one, column, NULL),
			      row_column_text(question, other, column, NULL)) != 0;
	}
}

static void note_differences(const struct process_rows *rows, struct process_row *row,
			     const struct sample *key)
{
	for (int column = 0; column < ROW_COLUMN_COUNT; column++)
		if (!(row->differing & 1U << column) &&
		    differs(rows->question, row->key, key, (enum row_column)column))
			row->differing |= 1U << column;
}

static int count_process(struct process_rows *rows, struct process_row *row,
			 const struct sample *key)
{
	const uint64_t process[] = { row->id, key->pid, text_hash(sample_host(key)),
				     key->pid == SAMPLE_NO_NUMBER ? text_hash(key->process_comm) :
								    0 };
	uint64_t hash = hash64_bytes(process, sizeof(process));

	if (hash_map_find(&rows->processes, hash, NULL))
		return 0;
	row->process_count++;
	return hash_map_set(&rows->processes, hash, 1);
}

static int find_row(struct process_rows *rows, const struct sample *key, uint32_t cpu,
		    uint32_t *index)
{
	uint64_t id = identify(rows, key, cpu), found = rows->items.count;
	int err = 0;

	if (!hash_map_find(&rows->indexes, id, &found)) {
		err = process_row_vector_push(
			&rows->items, (struct process_row){ .id = id, .key = key, .cpu = cpu });
		if (!err)
			err = hash_map_set(&rows->indexes, id, found);
	} else if (rows->items.items[found].key != key) {
		note_differences(rows, &rows->items.items[found], key);
	}
	if (!err)
		err = count_process(rows, &rows->items.items[found], key);
	*index = (uint32_t)found;
	return err;
}

int process_rows_find(struct process_rows *rows, const struct history_sample *sample,
		      uint32_t *index)
{
	uint32_t *known = &rows->row_of_key[sample->key];
	const struct sample *key;
	int err;

	if (*known > 1 && rows->grouping != ROWS_BY_CPU) {
		*index = *known - 2;
		return 0;
	}
	key = history_view_key(&rows->question->view, sample->key);
	*index = PROCESS_ROW_NONE;
	if (!*known)
		*known = passes(rows, key) ? 2 : 1;
	if (*known == 1)
		return 0;
	err = find_row(rows, key, sample->cpu, index);
	if (!err)
		*known = *index + 2;
	return err;
}

static int read_grouping(struct process_rows *rows)
{
	const char *text = request_parameter(rows->question->request, "group");

	if (!text)
		return 0;
	for (int i = 0; i < ROW_GROUPING_COUNT; i++) {
		if (!strcmp(text, grouping_names[i])) {
			rows->grouping = (enum row_grouping)i;
			return 0;
		}
	}
	return fail(-EINVAL,
		    "group is process, name, unit, container, user, parent, thread or cpu");
}

int process_rows_init(struct process_rows *rows, struct question *question)
{
	const struct api_request *request = question->request;
	int err;

	*rows = (struct process_rows){ .question = question };
	err = read_grouping(rows);
	for (size_t i = 0; i < request->parameter_count && !err; i++)
		if (!strcmp(request->parameters[i].name, "with"))
			err = add_filter(rows, request->parameters[i].value);
	if (err)
		return err;
	rows->row_of_key = calloc(question->view.key_count + 1, sizeof(*rows->row_of_key));
	return rows->row_of_key ? 0 : -ENOMEM;
}

void process_rows_deinit(struct process_rows *rows)
{
	for (size_t i = 0; i < rows->filter_count; i++)
		name_pattern_destroy(rows->filters[i].pattern);
	process_row_vector_deinit(&rows->items);
	hash_map_deinit(&rows->indexes);
	hash_map_deinit(&rows->processes);
	free(rows->row_of_key);
}

void process_row_write_id(uint64_t id, char text[ROW_ID_BYTES])
{
	snprintf(text, ROW_ID_BYTES, "%016" PRIx64, id);
}

/* --- rows by their ids --- */

static int read_ids(struct stacked_rows *stacked, const char *text)
{
	while (text && *text && stacked->count < STACKED_ROWS_MAX) {
		char *end;

		stacked->ids[stacked->count++] = strtoull(text, &end, 16);
		if (end - text != ROW_ID_BYTES - 1 || (*end && *end != '.'))
			return fail(-EINVAL, "rows are ids of 16 digits with dots between them");
		text = *end ? end + 1 : end;
	}
	return 0;
}

int stacked_rows_init(struct stacked_rows *stacked, struct question *question)
{
	int err = process_rows_init(&stacked->rows, question);

	stacked->count = 0;
	stacked->slots = (struct number_vector){ 0 };
	return err ? err : read_ids(stacked, request_parameter(question->request, "rows"));
}

void stacked_rows_deinit(struct stacked_rows *stacked)
{
	process_rows_deinit(&stacked->rows);
	number_vector_deinit(&stacked->slots);
}

static uint32_t slot_of(const struct stacked_rows *stacked, uint64_t id)
{
	for (int i = 0; i < stacked->count; i++)
		if (stacked->ids[i] == id)
			return (uint32_t)i + 1;
	return 0;
}

int stacked_rows_find(struct stacked_rows *stacked, const struct history_sample *sample, int *slot)
{
	uint32_t index;
	int err = process_rows_find(&stacked->rows, sample, &index);

	*slot = -1;
	if (err || index == PROCESS_ROW_NONE)
		return err;
	while (!err && stacked->slots.count <= index)
		err = number_vector_push(
			&stacked->slots,
			slot_of(stacked, stacked->rows.items.items[stacked->slots.count].id));
	if (!err)
		*slot = (int)stacked->slots.items[index] - 1;
	return err;
}
