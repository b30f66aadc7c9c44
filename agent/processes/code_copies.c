/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process decides what code it makes, where, and how often it changes that. So what is copied for it is limited in number
 * and in time, and its copies never displace rows of files.
 */
#include "agent/processes/code_copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/processes/runtimes/attachments.h"
#include "agent/processes/runtimes/executable_runtime.h"
#include "ebpf/abi/frame.h"
#include "ebpf/abi/slab.h"
#include "lib/base/log.h"
#include "stackdeltas/copied_code.h"

/* An answer that does not come by then was lost. Others are requested before, if it takes long. */
#define ANSWER_MAX_NS (60 * NS_PER_SECOND)
#define ANSWER_OF_ALL_MAX_NS (5 * NS_PER_SECOND)
/* Pause of a process after each copy, at least. */
#define COPY_PAUSE_NS (20 * NS_PER_MS)
/* If nothing was wanted for so long after the last pause, the next one is short again. */
#define CALM_NS (10 * NS_PER_SECOND)
/* Pause while there is no room for another copy. */
#define ROOM_PAUSE_NS NS_PER_SECOND

/* --- copies --- */

static void unref(struct code_copy *copy)
{
	if (!--copy->references)
		free(copy);
}

/* Takes a copy out of the maps. Processes drop their references later; the kernel side finds no rows for its id. */
static void retire(struct code_copies *copies, uint32_t index)
{
	struct code_copy *copy = copies->all[index];

	copies->writer->ops->retire_executable(copies->writer, copy->id);
	executable_cache_release_id(copies->executables, copy->id);
	copies->map_bytes -= copy->map_bytes;
	copy->id = 0;
	copies->all[index] = copies->all[--copies->count];
	unref(copy);
}

/* Retires copies that no process has any more. */
static void retire_unreferenced(struct code_copies *copies)
{
	for (uint32_t i = copies->count; i-- > 0;)
		if (copies->all[i]->references == 1)
			retire(copies, i);
}

static void note_used(struct code_copies *copies, uint64_t now_ns)
{
	for (uint32_t i = 0; i < copies->count; i++)
		if (copies->writer->ops->executable_was_used(copies->writer, copies->all[i]->id)) {
			copies->all[i]->used_ns = now_ns;
			copies->all[i]->was_used = true;
		}
}

/* Retires the copy among @all that was not used for longest; false if all are in use. */
static bool retire_oldest(struct code_copies *copies, uint64_t now_ns)
{
	uint32_t oldest = 0;

	note_used(copies, now_ns);
	for (uint32_t i = 1; i < copies->count; i++)
		if (copies->all[i]->used_ns < copies->all[oldest]->used_ns)
			oldest = i;
	if (!copies->count || copies->all[oldest]->used_ns + CODE_COPY_IN_USE_NS > now_ns)
		return false;
	retire(copies, oldest);
	return true;
}

void code_copies_deinit(struct code_copies *copies)
{
	while (copies->count)
		retire(copies, copies->count - 1);
}

/* Whether rows of files may need the memory. */
static bool is_memory_short(const struct code_copies *copies)
{
	uint64_t used_bytes, budget_bytes;

	copies->writer->ops->memory(copies->writer, &used_bytes, &budget_bytes);
	return used_bytes > budget_bytes - budget_bytes / CODE_COPIES_SHARE;
}

void code_copies_tick(struct code_copies *copies, uint64_t now_ns)
{
	uint64_t keep_ns = is_memory_short(copies) ? CODE_COPY_IN_USE_NS : CODE_COPY_KEEP_NS;

	note_used(copies, now_ns);
	retire_unreferenced(copies);
	for (uint32_t i = copies->count; i-- > 0;)
		if (copies->all[i]->used_ns + keep_ns < now_ns)
			retire(copies, i);
}

/* --- the copies of a process --- */

static void remove_item(struct process_copies *list, uint32_t index)
{
	unref(list->items[index]);
	list->count--;
	memmove(&list->items[index], &list->items[index + 1],
		(list->count - index) * sizeof(list->items[0]));
}

static void pause_longer(struct process_copies *list, uint64_t now_ns)
{
	list->pause_ns *= 2;
	if (list->pause_ns < CODE_COPY_PAUSE_MIN_NS)
		list->pause_ns = CODE_COPY_PAUSE_MIN_NS;
	if (list->pause_ns > CODE_COPY_PAUSE_MAX_NS)
		list->pause_ns = CODE_COPY_PAUSE_MAX_NS;
	if (list->next_ns < now_ns + list->pause_ns)
		list->next_ns = now_ns + list->pause_ns;
}

/* Notes that a copy of [@start, @end) is of no use. */
static void note_barren(struct process_copies *list, uint64_t start, uint64_t end, uint64_t now_ns)
{
	uint32_t index = list->next_barren++ % CODE_BARREN_MAX;

	list->barren[index].start = start;
	list->barren[index].end = end;
	list->barren[index].until_ns = now_ns + CODE_BARREN_NS;
}

static bool is_barren(const struct process_copies *list, uint64_t address, uint64_t now_ns)
{
	for (uint32_t i = 0; i < CODE_BARREN_MAX; i++)
		if (address >= list->barren[i].start && address < list->barren[i].end &&
		    now_ns < list->barren[i].until_ns)
			return true;
	return false;
}

/* Removes a copy that made room for others. */
static void remove_evicted(struct process_copies *list, uint32_t index, uint64_t now_ns)
{
	const struct code_copy *copy = list->items[index];

	if (!copy->was_used) {
		note_barren(list, copy->start, copy->end, now_ns);
		pause_longer(list, now_ns);
	}
	remove_item(list, index);
}

static void drop_retired(struct process_copies *list, uint64_t now_ns)
{
	for (uint32_t i = list->count; i-- > 0;)
		if (!list->items[i]->id)
			remove_evicted(list, i, now_ns);
}

/* Removes the copies that overlap [@start, @end); returns whether there were any. */
static bool remove_range(struct process_copies *list, uint64_t start, uint64_t end)
{
	bool has_any = false;

	for (uint32_t i = list->count; i-- > 0;) {
		if (list->items[i]->end <= start || list->items[i]->start >= end)
			continue;
		remove_item(list, i);
		has_any = true;
	}
	return has_any;
}

/* Adds a reference to @copy, which overlaps no other one. There is room. */
static void insert_item(struct process_copies *list, struct code_copy *copy)
{
	uint32_t i = list->count++;

	for (; i && list->items[i - 1]->start > copy->start; i--)
		list->items[i] = list->items[i - 1];
	list->items[i] = copy;
	copy->references++;
}

static void remove_all(struct process_copies *list)
{
	while (list->count)
		remove_item(list, list->count - 1);
}

void code_copies_release(struct code_copies *copies, struct process *process)
{
	if (!process->copies)
		return;
	remove_all(process->copies);
	free(process->copies);
	process->copies = NULL;
	retire_unreferenced(copies);
}

void code_copies_inherit(struct process *process, const struct process *parent)
{
	const struct process_copies *model = parent->copies;

	if (!model || !model->count || process->copies)
		return;
	process->copies = calloc(1, sizeof(*process->copies));
	for (uint32_t i = 0; process->copies && i < model->count; i++)
		if (model->items[i]->id)
			insert_item(process->copies, model->items[i]);
}

/* Whether the mapping is memory of no file, and not one that may be a copy of a file's text (copied_text.h). */
static bool is_anonymous_code(const struct process_mapping *mapping)
{
	return mapping->executable_id == EXECUTABLE_ID_ANONYMOUS && !mapping->inode &&
	       !mapping->look_count;
}

static const struct process_mapping *find_mapping(const struct process *process, uint64_t start,
						  uint64_t end)
{
	for (uint32_t i = 0; i < process->mapping_count; i++)
		if (process->mappings[i].start < end && process->mappings[i].end > start)
			if (is_anonymous_code(&process->mappings[i]))
				return &process->mappings[i];
	return NULL;
}

void code_copies_update(struct code_copies *copies, struct process *process)
{
	struct process_copies *list = process->copies;

	if (!list)
		return;
	if (attachments_may_have_code(process))
		remove_all(list);
	for (uint32_t i = list->count; i-- > 0;)
		if (!find_mapping(process, list->items[i]->start, list->items[i]->end))
			remove_item(list, i);
	retire_unreferenced(copies);
}

/* --- rows --- */

static void push_row(struct mapping_row *rows, uint32_t *count, uint64_t start, uint64_t end,
		     uint64_t executable_id)
{
	if (start < end)
		rows[(*count)++] = (struct mapping_row){
			.start = start,
			.end = end,
			.executable_id = executable_id,
		};
}

/* Pushes the parts of @row, which is anonymous code. */
static void push_parts(const struct process_copies *list, const struct mapping_row *row,
		       struct mapping_row *rows, uint32_t *count)
{
	uint64_t at = row->start;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct code_copy *copy = list->items[i];
		uint64_t start = copy->start > at ? copy->start : at;
		uint64_t end = copy->end < row->end ? copy->end : row->end;

		if (!copy->id || start >= end)
			continue;
		push_row(rows, count, at, start, EXECUTABLE_ID_ANONYMOUS);
		push_row(rows, count, start, end, copy->id);
		at = end;
	}
	push_row(rows, count, at, row->end, EXECUTABLE_ID_ANONYMOUS);
}

struct mapping_row *code_copies_rows(const struct process *process,
				     const struct mapping_table *table, uint32_t *count)
{
	const struct process_copies *list = process->copies;
	struct mapping_row *rows;
	/* Each copy may overlap several rows, and cuts each of them at its start and at its end. */
	uint64_t room = (uint64_t)table->count * 2 + (list ? 2 * list->count : 0);
	uint32_t made = 0;

	if (!list || !list->count)
		return NULL;
	rows = calloc(room, sizeof(*rows));
	if (!rows)
		return NULL;
	for (uint32_t i = 0; i < table->count; i++)
		if (table->rows[i].executable_id == EXECUTABLE_ID_ANONYMOUS)
			push_parts(list, &table->rows[i], rows, &made);
		else
			rows[made++] = table->rows[i];
	if (made > PROCESS_MAX_MAPPINGS) {
		free(rows);
		return NULL;
	}
	*count = made;
	return rows;
}

/* --- requests --- */

static struct process_copies *list_of(struct process *process)
{
	if (!process->copies)
		process->copies = calloc(1, sizeof(*process->copies));
	return process->copies;
}

static const struct code_copy *find_copy(const struct process_copies *list, uint64_t address)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (address >= list->items[i]->start && address < list->items[i]->end)
			return list->items[i];
	return NULL;
}

/* Finds the anonymous code around @address: its mapping and those that adjoin it, since the kernel splits and joins these. */
static bool find_code(const struct process *process, uint64_t address, uint64_t *start,
		      uint64_t *end)
{
	uint64_t first = 0, last = 0;

	for (uint32_t i = 0; i < process->mapping_count; i++) {
		const struct process_mapping *mapping = &process->mappings[i];

		if (!is_anonymous_code(mapping))
			continue;
		if (mapping->start != last && last > address)
			break;
		if (mapping->start != last)
			first = mapping->start;
		last = mapping->end;
	}
	*start = first;
	*end = last;
	return address >= first && address < last;
}

/* The window, whose rows are wanted. */
static uint64_t window_start(const struct code_range_of_process *code)
{
	return code->start + code->lead_bytes;
}

static uint64_t window_end(const struct code_range_of_process *code)
{
	return code->start + code->bytes - code->tail_bytes;
}

/* Sets the range of the window of @address. */
static bool find_window(const struct process *process, uint64_t address,
			struct code_range_of_process *code)
{
	uint64_t start = address / CODE_WINDOW_BYTES * CODE_WINDOW_BYTES;
	uint64_t end = start + CODE_WINDOW_BYTES, first, last;

	if (!find_code(process, address, &first, &last))
		return false;
	if (start < first)
		start = first;
	if (end > last)
		end = last;
	code->lead_bytes = start - first < CODE_MARGIN_BYTES ? start - first : CODE_MARGIN_BYTES;
	code->tail_bytes = last - end < CODE_MARGIN_BYTES ? last - end : CODE_MARGIN_BYTES;
	code->start = start - code->lead_bytes;
	code->bytes = end + code->tail_bytes - code->start;
	return copied_code_is_range(code->start, code->bytes);
}

/* Makes room for a copy in the lists of the process and of all; false if all copies are in use. */
static bool make_room(struct code_copies *copies, struct process_copies *list, uint64_t now_ns)
{
	uint32_t oldest = 0;

	drop_retired(list, now_ns);
	if (list->count == CODE_COPIES_OF_PROCESS_MAX) {
		note_used(copies, now_ns);
		for (uint32_t i = 1; i < list->count; i++)
			if (list->items[i]->used_ns < list->items[oldest]->used_ns)
				oldest = i;
		if (list->items[oldest]->used_ns + CODE_COPY_IN_USE_NS > now_ns)
			return false;
		remove_evicted(list, oldest, now_ns);
	}
	retire_unreferenced(copies);
	return copies->count < CODE_COPIES_MAX || retire_oldest(copies, now_ns);
}

/* Whether a file that it has mapped may still turn out to be a runtime that generates code. */
static bool is_probing(const struct code_copies *copies, const struct process *process)
{
	for (uint32_t i = 0; i < process->mapping_count; i++)
		if (process->mappings[i].is_requested)
			return true;
	return process->table &&
	       executable_runtime_is_pending(copies->executables, process->table->rows,
					     process->table->count);
}

static bool may_copy(const struct code_copies *copies, const struct process *process,
		     uint64_t now_ns)
{
	const struct process_copies *list = process->copies;

	return copies->request && process->is_published && !process->ended_ns &&
	       process->hanging_until_ns <= now_ns && now_ns >= copies->next_ns &&
	       now_ns >= copies->asked_until_ns &&
	       (!list || (now_ns >= list->next_ns && now_ns >= list->asked_until_ns)) &&
	       !is_probing(copies, process) && !attachments_may_have_code(process);
}

void code_copies_note_hit(struct code_copies *copies, struct process *process, uint64_t address,
			  bool is_changed, uint64_t now_ns)
{
	struct code_copy_request *request, window = {
		.code = { .pid = process->pid, .identity = process->identity },
	};
	const struct code_copy *copy;
	struct process_copies *list;

	if (!may_copy(copies, process, now_ns) || !find_window(process, address, &window.code))
		return;
	list = list_of(process);
	if (!list)
		return;
	drop_retired(list, now_ns);
	/* Dropping one may have lengthened the pause. */
	if (now_ns < list->next_ns || is_barren(list, address, now_ns))
		return;
	copy = find_copy(list, address);
	/* The analysis has no row there. */
	if (copy && !is_changed)
		return;
	if (now_ns > list->next_ns + list->pause_ns + CALM_NS)
		list->pause_ns = 0;
	if (copy && copy->start == window_start(&window.code) &&
	    copy->end == window_end(&window.code))
		window.known = copy->content;
	if (!copy && !make_room(copies, list, now_ns)) {
		list->next_ns = now_ns + ROOM_PAUSE_NS;
		return;
	}
	request = malloc(sizeof(*request));
	if (!request)
		return;
	*request = window;
	list->asked_until_ns = now_ns + ANSWER_MAX_NS;
	copies->asked_until_ns = now_ns + ANSWER_OF_ALL_MAX_NS;
	copies->request(copies->context, request);
}

/* --- answers --- */

static void pause_for_cost(struct process_copies *list, uint64_t cost_ns, uint64_t now_ns)
{
	uint64_t pause_ns = cost_ns * CODE_COPY_PROCESS_PAUSE;

	if (pause_ns < COPY_PAUSE_NS)
		pause_ns = COPY_PAUSE_NS;
	if (list->next_ns < now_ns + pause_ns)
		list->next_ns = now_ns + pause_ns;
}

/* Whether there is a row that can be used in the window. */
static bool has_useful_rows(const struct code_copy_answer *answer)
{
	const struct stack_deltas *deltas = &answer->deltas;
	const uint16_t *ids = stack_deltas_rule_ids(deltas);
	uint32_t page = answer->code.lead_bytes / UNWIND_PAGE_BYTES;
	uint32_t end = deltas->page_count - answer->code.tail_bytes / UNWIND_PAGE_BYTES;

	for (; page < end; page++) {
		if (!deltas->checks[page].fingerprint)
			continue;
		for (uint32_t row = deltas->page_index[page]; row < deltas->page_index[page + 1];
		     row++)
			if (deltas->rules[ids[row]].cfa != CFA_NONE)
				return true;
	}
	return false;
}

/*
 * Publishes the rows, if there is room. Else copies that are not in use go, and no rows of files; their room is free after
 * a grace period, for which nothing waits here.
 */
static int publish(struct code_copies *copies, uint64_t id, const struct stack_deltas *deltas,
		   uint64_t map_bytes, uint64_t now_ns)
{
	struct map_writer *writer = copies->writer;
	uint64_t used_bytes, budget_bytes, freed_bytes = copies->map_bytes;
	int err = -ENOSPC;

	writer->ops->memory(writer, &used_bytes, &budget_bytes);
	if (copies->map_bytes + map_bytes <= budget_bytes / CODE_COPIES_SHARE)
		err = writer->ops->publish_executable(writer, id, deltas);
	while (err == -ENOSPC && freed_bytes - copies->map_bytes < map_bytes &&
	       retire_oldest(copies, now_ns))
		;
	return err;
}

/* Makes the copy of the answer, with the list's reference. NULL and *@err; -ENOSPC: there is no room now. */
static struct code_copy *add_copy(struct code_copies *copies, const struct code_copy_answer *answer,
				  uint64_t now_ns, int *err)
{
	struct code_copy *copy = calloc(1, sizeof(*copy));

	*err = -ENOMEM;
	if (!copy)
		return NULL;
	*copy = (struct code_copy){
		.references = 1,
		.start = window_start(&answer->code),
		.end = window_end(&answer->code),
		.content = answer->content,
		.map_bytes = (uint64_t)stack_deltas_cell_count(&answer->deltas) * CELL_BYTES,
		.used_ns = now_ns,
	};
	*err = executable_cache_reserve_id(copies->executables, EXECUTABLE_ID_COPY, &copy->id);
	if (*err) {
		free(copy);
		return NULL;
	}
	*err = publish(copies, copy->id, &answer->deltas, copy->map_bytes, now_ns);
	if (*err) {
		executable_cache_release_id(copies->executables, copy->id);
		free(copy);
		return NULL;
	}
	copies->map_bytes += copy->map_bytes;
	copies->all[copies->count++] = copy;
	return copy;
}

/*
 * 0: the copy was added; -EOPNOTSUPP: its rows are of no use, or the process has a runtime that generates code; -ENOSPC: there
 * is no room now.
 */
static int take_copy(struct code_copies *copies, struct process *process,
		     const struct code_copy_answer *answer, uint64_t now_ns)
{
	struct process_copies *list = process->copies;
	struct code_copy *copy;
	bool is_replaced;
	int err;

	if (attachments_may_have_code(process))
		return -EOPNOTSUPP;
	if (!has_useful_rows(answer)) {
		note_barren(list, window_start(&answer->code), window_end(&answer->code), now_ns);
		return -EOPNOTSUPP;
	}
	/* Other processes may have taken the room meanwhile. */
	if (copies->count == CODE_COPIES_MAX && !retire_oldest(copies, now_ns))
		return -ENOSPC;
	copy = add_copy(copies, answer, now_ns, &err);
	if (!copy)
		return err;
	drop_retired(list, now_ns);
	is_replaced = remove_range(list, copy->start, copy->end);
	if (list->count < CODE_COPIES_OF_PROCESS_MAX)
		insert_item(list, copy);
	if (is_replaced)
		pause_longer(list, now_ns);
	log_debug("process %u: rows of %llu bytes of its code at %#llx published", process->pid,
		  (unsigned long long)answer->code.bytes, (unsigned long long)answer->code.start);
	return 0;
}

struct process *code_copies_answer(struct code_copies *copies, struct code_copy_answer *answer,
				   uint64_t now_ns)
{
	struct process *process =
		process_table_find(copies->table, answer->code.pid, &answer->code.identity);
	struct process_copies *list = process ? process->copies : NULL;
	int err = answer->err;

	copies->asked_until_ns = 0;
	copies->next_ns = now_ns + answer->cost_ns * CODE_COPY_PAUSE;
	/* The process has ended, or was released. */
	if (!list || !list->asked_until_ns || process->ended_ns) {
		stack_deltas_deinit(&answer->deltas);
		return NULL;
	}
	list->asked_until_ns = 0;
	pause_for_cost(list, answer->cost_ns, now_ns);
	if (err)
		log_debug("process %u: its code at %#llx is not copied: %s", answer->code.pid,
			  (unsigned long long)answer->code.start, strerror(-err));
	else if (!answer->is_unchanged)
		err = take_copy(copies, process, answer, now_ns);
	/* Nothing is wrong with the process. */
	if (err == -EAGAIN || err == -ENOSPC) {
		if (list->next_ns < now_ns + ROOM_PAUSE_NS)
			list->next_ns = now_ns + ROOM_PAUSE_NS;
	} else if (err || answer->is_unchanged) {
		pause_longer(list, now_ns);
	}
	stack_deltas_deinit(&answer->deltas);
	retire_unreferenced(copies);
	return err || answer->is_unchanged ? NULL : process;
}
