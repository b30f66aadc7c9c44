/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/process_news.h"

#include "lib/base/clock.h"
#include "lib/model/metrics.h"

/* A program without a sample is synced when it has run for this time. */
#define NEW_PROGRAM_NS (60 * NS_PER_MS)

/* --- programs that began lately --- */

static struct process_event *slot_of(struct new_programs *programs, uint32_t pid)
{
	return &programs->execs[pid % NEW_PROGRAMS_MAX];
}

static void forget(struct new_programs *programs, struct process_event *exec)
{
	exec->pid = 0;
	programs->count--;
}

static void pass_on(struct new_programs *programs, struct process_event *exec)
{
	programs->pass_on(programs->context, exec);
	forget(programs, exec);
}

void new_programs_add(struct new_programs *programs, const struct process_event *exec)
{
	struct process_event *slot = slot_of(programs, exec->pid);

	if (slot->pid && slot->pid != exec->pid)
		pass_on(programs, slot);
	programs->count += !slot->pid;
	*slot = *exec;
}

void new_programs_pass_on_of(struct new_programs *programs, uint32_t pid)
{
	struct process_event *slot = slot_of(programs, pid);

	if (slot->pid == pid)
		pass_on(programs, slot);
}

bool new_programs_end(struct new_programs *programs, const struct process_event *exit)
{
	struct process_event *slot = slot_of(programs, exit->pid);

	if (slot->pid != exit->pid || slot->identity.exec_id != exit->identity.exec_id ||
	    slot->identity.start_time_ns != exit->identity.start_time_ns)
		return false;
	forget(programs, slot);
	return true;
}

void new_programs_pass_on(struct new_programs *programs, uint64_t time_ns)
{
	for (uint32_t i = 0; programs->count && i < NEW_PROGRAMS_MAX; i++)
		if (programs->execs[i].pid && programs->execs[i].time_ns < time_ns)
			pass_on(programs, &programs->execs[i]);
}

/* --- news --- */

static void pass_on_process_event(void *context, const struct process_event *process_event)
{
	struct process_news *news = context;
	struct sync_event event = { .type = EVENT_PROCESS, .process_event = *process_event };

	news->push(news->context, &event);
}

void process_news_init(struct process_news *news, struct process_table *table,
		       struct mapping_log *mapping_log,
		       void (*push)(void *context, struct sync_event *event), void *context)
{
	*news = (struct process_news){
		.table = table,
		.mapping_log = mapping_log,
		.new_programs = { .pass_on = pass_on_process_event, .context = news },
		.push = push,
		.context = context,
	};
}

void process_news_take_process_event(struct process_news *news,
				     const struct process_event *process_event)
{
	struct new_programs *programs = &news->new_programs;
	bool is_known = process_table_knows(news->table, process_event->pid);

	process_table_note_program(news->table, process_event->pid, &process_event->identity);
	switch (process_event->type) {
	case PROCESS_EVENT_EXEC:
		if (!is_known) {
			new_programs_add(programs, process_event);
			return;
		}
		break;
	case PROCESS_EVENT_EXIT:
		/* Forks that were not sampled are not in the table. */
		if (new_programs_end(programs, process_event) || !is_known)
			return;
		break;
	default:
		new_programs_pass_on_of(programs, process_event->pid);
		if (process_event->is_fork)
			new_programs_pass_on_of(programs, process_event->parent_pid);
		break;
	}
	pass_on_process_event(news, process_event);
}

void process_news_end(struct process_news *news, uint64_t until_ns)
{
	new_programs_pass_on(&news->new_programs, until_ns - NEW_PROGRAM_NS);
	mapping_log_note_heard(news->mapping_log, until_ns);
}

static void take_mapping(struct process_news *news, const struct side_band_event *mapping)
{
	struct sync_event event = {
		.type = EVENT_MAPPING,
		.mapping = {
			.pid = mapping->pid,
			.start = mapping->start,
			.end = mapping->start + mapping->length,
		},
	};

	/* An unknown process is read as a whole when it is needed. */
	switch (process_table_note_mapping(news->table, mapping)) {
	case MAPPING_KNOWN:
		return;
	case MAPPING_REPLACED:
		event.mapping.is_replaced = true;
		metrics_add(METRIC_MAPPINGS_REPLACED, 1);
		break;
	default:
		break;
	}
	news->push(news->context, &event);
}

void process_news_take_side_band(struct process_news *news, const struct side_band_event *event)
{
	struct sync_event lost = { .type = EVENT_LOST };

	mapping_log_add(news->mapping_log, event);
	switch (event->type) {
	case SIDE_BAND_MAPPING:
		take_mapping(news, event);
		break;
	case SIDE_BAND_LOST:
		news->push(news->context, &lost);
		break;
	/* Of no process: the caller has taken it. */
	case SIDE_BAND_KERNEL_CODE:
		break;
	}
}
