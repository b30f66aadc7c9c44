/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/opened_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/text_builder.h"

enum {
	/* Longer names of processes and threads are cut. */
	COMM_MAX_BYTES = 256,
	/* The time between two parts, one of which had to be moved. */
	PART_GAP_NS = NS_PER_SECOND,
};

/* --- stacks --- */

int opened_stack_push(struct opened_stack *stack, const struct frame *frame)
{
	static const struct frame truncated = { .kind = FRAME_ERROR, .error = UNWIND_TRUNCATED };

	if (opened_stack_is_full(stack))
		return 0;
	return frame_vector_push(&stack->frames,
				 stack->frames.count + 1 < OPENED_FRAMES_MAX ? *frame : truncated);
}

void opened_stack_set_mark(struct opened_stack *stack, uint8_t kind)
{
	for (size_t i = stack->frames.count; i-- > 0;) {
		struct frame *frame = &stack->frames.items[i];

		if (frame->kind != kind)
			continue;
		frame->flags |= FRAME_MARKS_TRACE;
		return;
	}
}

/* Inlined functions are in the code of their callers, also if a file says so of the callers only. */
static void locate_inlined(struct frame_vector *frames)
{
	for (size_t i = frames->count; i-- > 1;) {
		const struct frame *caller = &frames->items[i];
		struct frame *frame = &frames->items[i - 1];

		if (frame->flags & FRAME_INLINED && frame->kind == FRAME_NATIVE &&
		    caller->kind == FRAME_NATIVE && frame->binary && frame->binary->is_nowhere)
			frame->binary = caller->binary;
	}
}

struct trace *opened_stack_finish(struct opened_stack *stack)
{
	bool is_complete = stack->frames.count, is_kernel = stack->frames.count;
	struct trace *trace;

	locate_inlined(&stack->frames);
	for (size_t i = 0; i < stack->frames.count; i++) {
		const struct frame *frame = &stack->frames.items[i];

		if (frame->kind == FRAME_ERROR || frame->flags & FRAME_GUESS)
			is_complete = false;
		if (frame->kind != FRAME_KERNEL)
			is_kernel = false;
	}
	trace = trace_create(stack->frames.items, stack->frames.count, is_complete, is_kernel);
	stack->frames.count = 0;
	return trace;
}

void opened_stack_deinit(struct opened_stack *stack)
{
	frame_vector_deinit(&stack->frames);
}

/* --- samples --- */

static size_t max_bytes(const struct opened_samples *opened)
{
	return opened->max_bytes ? opened->max_bytes : OPENED_MAX_BYTES;
}

static int refuse_size(const struct opened_samples *opened)
{
	return fail(-E2BIG, "its stacks and processes need more than %zu MiB",
		    max_bytes(opened) >> 20);
}

void opened_samples_init(struct opened_samples *opened)
{
	if (!opened->has_table)
		sample_table_init(&opened->table, max_bytes(opened));
	opened->has_table = true;
}

int opened_samples_spend(struct opened_samples *opened, size_t bytes)
{
	opened->other_bytes += bytes;
	return opened_samples_bytes(opened) > max_bytes(opened) ? refuse_size(opened) : 0;
}

static int add_sample(struct opened_samples *opened, const struct sample *sample)
{
	int err;

	opened->table.max_bytes = max_bytes(opened) - opened->other_bytes;
	err = sample_table_add(&opened->table, sample, &opened->current);
	return err == -E2BIG ? refuse_size(opened) : err;
}

/* "" for NULL; for a long text, @cut filled with its beginning. */
static const char *cut_comm(const char *text, char cut[COMM_MAX_BYTES])
{
	size_t length = text ? strnlen(text, COMM_MAX_BYTES) : 0;

	if (length < COMM_MAX_BYTES)
		return length ? text : "";
	memcpy(cut, text, COMM_MAX_BYTES - 1);
	cut[COMM_MAX_BYTES - 1] = '\0';
	return cut;
}

int opened_samples_begin(struct opened_samples *opened, const struct sample *sample)
{
	char process_comm[COMM_MAX_BYTES], thread_comm[COMM_MAX_BYTES];
	struct sample complete = *sample;

	if (opened->is_cancelled && *opened->is_cancelled)
		return -ECANCELED;
	complete.process_comm = cut_comm(sample->process_comm, process_comm);
	complete.thread_comm = cut_comm(sample->thread_comm, thread_comm);
	return add_sample(opened, &complete);
}

static uint64_t add_saturated(uint64_t sum, uint64_t value)
{
	return value > UINT64_MAX - sum ? UINT64_MAX : sum + value;
}

static uint64_t magnitude_of(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static int refuse_values(void)
{
	return fail(-E2BIG, "the sum of its values has more than 63 bits");
}

/* Sums of the page are of 63 bits and a sign. Counts of samples have a lower limit. */
static int add_to_totals(struct opened_samples *opened, uint32_t type, uint64_t magnitude)
{
	uint64_t *total = &opened->type_totals[type];

	opened->total = add_saturated(opened->total, magnitude);
	*total = add_saturated(*total, magnitude);
	return *total > INT64_MAX && !opened->max_samples ? refuse_values() : 0;
}

int opened_samples_add(struct opened_samples *opened, uint64_t time_ns, int64_t value)
{
	const struct sample_entry *entry;
	const struct opened_moment moment = {
		.time_ns = time_ns,
		.value = value,
		.sample = opened->current,
	};
	int err;

	if (!value)
		return 0;
	err = opened_samples_spend(opened, sizeof(moment));
	if (err)
		return err;
	if (!opened->moments.count || time_ns < opened->first_ns)
		opened->first_ns = time_ns;
	if (!opened->moments.count || time_ns > opened->last_ns)
		opened->last_ns = time_ns;
	entry = sample_table_at(opened->table.blocks.items, opened->current);
	err = add_to_totals(opened, entry->sample.origin, magnitude_of(value));
	if (err)
		return err;
	if (opened->max_samples && opened->total > opened->max_samples)
		return fail(-E2BIG, "it has more than %llu samples",
			    (unsigned long long)opened->max_samples);
	return opened_moment_vector_push(&opened->moments, moment);
}

static int compare_moments(const void *a, const void *b)
{
	const struct opened_moment *one = a, *other = b;

	if (one->time_ns != other->time_ns)
		return one->time_ns < other->time_ns ? -1 : 1;
	return (one->sample > other->sample) - (one->sample < other->sample);
}

struct sample opened_sample_unknown(void)
{
	struct sample sample = { .process_comm = "", .thread_comm = "" };

	for (uint32_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT; i++)
		if (sample_attributes[i].kind == ATTRIBUTE_NUMBER)
			sample_set_number(&sample, i, sample_attributes[i].unknown);
	return sample;
}

int opened_samples_put(struct opened_samples *opened, const struct sample *sample, uint32_t type,
		       uint64_t time_ns, int64_t value)
{
	struct sample typed = *sample;
	int err;

	if (!value)
		return 0;
	typed.origin = (uint8_t)type;
	err = opened_samples_begin(opened, &typed);
	return err ? err : opened_samples_add(opened, time_ns, value);
}

/* Stores the values of type @index with more decimals. */
static int add_decimals(struct opened_samples *opened, uint32_t index, uint8_t decimals)
{
	struct value_type *type = &opened->facts.types[index];
	int64_t factor = 1;
	uint64_t added = 0;

	for (; type->decimals < decimals; type->decimals++)
		factor *= 10;
	for (size_t i = 0; i < opened->moments.count; i++) {
		struct opened_moment *moment = &opened->moments.items[i];
		const struct sample_entry *entry =
			sample_table_at(opened->table.blocks.items, moment->sample);
		uint64_t before = magnitude_of(moment->value);

		if (entry->sample.origin != index)
			continue;
		if (__builtin_mul_overflow(moment->value, factor, &moment->value))
			return refuse_values();
		added = add_saturated(added, magnitude_of(moment->value) - before);
	}
	return add_to_totals(opened, index, added);
}

int opened_samples_add_type(struct opened_samples *opened, const char *type, const char *unit,
			    uint8_t decimals, uint32_t *index)
{
	struct profile_facts *facts = &opened->facts;
	struct value_type wanted = { .unit = (char *)unit, .decimals = decimals };
	struct text_builder text = { 0 };
	uint32_t i = 0;
	int err = 0;

	while (i < facts->type_count &&
	       (strcmp(facts->types[i].type, type) || strcmp(facts->types[i].unit, unit)))
		i++;
	if (i == facts->type_count) {
		value_type_append_unit(&text, &wanted);
		err = text.failed ?
			      -ENOMEM :
			      profile_facts_add_type(facts, type, text_builder_text(&text), &i);
		text_builder_deinit(&text);
	} else if (facts->types[i].decimals < decimals) {
		err = add_decimals(opened, i, decimals);
	}
	if (!err)
		*index = i;
	return err;
}

void opened_samples_set_rate(struct opened_samples *opened)
{
	const struct profile_facts *facts = &opened->facts;

	if (facts->period_type && !strcmp(facts->period_unit, "nanoseconds") &&
	    facts->period <= (int64_t)NS_PER_SECOND)
		opened->samples_per_second =
			(NS_PER_SECOND + (uint64_t)facts->period / 2) / (uint64_t)facts->period;
}

void opened_samples_choose_type(struct opened_samples *opened, const char *name)
{
	struct profile_facts *facts = &opened->facts;

	facts->names_shown_type = name && *name &&
				  !profile_facts_find_type(facts, name, &facts->shown_type);
	if (facts->names_shown_type)
		return;
	facts->shown_type = facts->type_count ? facts->type_count - 1 : 0;
	while (facts->shown_type && !opened->type_totals[facts->shown_type])
		facts->shown_type--;
}

void opened_samples_choose_first_type(struct opened_samples *opened)
{
	struct profile_facts *facts = &opened->facts;

	facts->shown_type = 0;
	while (facts->shown_type + 1 < facts->type_count && !opened->type_totals[facts->shown_type])
		facts->shown_type++;
}

int opened_samples_select_type(struct opened_samples *opened, const char *name)
{
	const struct profile_facts *facts = &opened->facts;
	_cleanup_(text_builder_deinit) struct text_builder text = { 0 };

	if (!profile_facts_find_type(facts, name, &opened->facts.shown_type)) {
		opened->facts.names_shown_type = true;
		return 0;
	}
	for (uint32_t i = 0; i < facts->type_count; i++) {
		text_builder_append(&text, i ? ", " : "");
		text_builder_append_name(&text, facts->types[i].type);
		text_builder_append(&text, "/");
		text_builder_append_name(&text, facts->types[i].unit);
	}
	return fail(-ENOENT, "no values of type %s; there are %s", name, text_builder_text(&text));
}

int opened_samples_end_part(struct opened_samples *opened, const char *name, size_t first_moment)
{
	const struct profile_facts *facts = &opened->facts;
	uint64_t first_ns = UINT64_MAX, last_ns = 0, behind_ns = 0, shift_ns = 0;

	for (size_t i = first_moment; i < opened->moments.count; i++) {
		uint64_t time_ns = opened->moments.items[i].time_ns;

		first_ns = time_ns < first_ns ? time_ns : first_ns;
		last_ns = time_ns > last_ns ? time_ns : last_ns;
	}
	for (size_t i = 0; i < facts->part_count; i++) {
		const struct profile_part *part = &facts->parts[i];

		/* The page selects whole milliseconds. */
		if (first_ns <= part->last_ns + NS_PER_SECOND &&
		    part->first_ns <= last_ns + NS_PER_SECOND)
			shift_ns = 1;
		if (part->last_ns > behind_ns)
			behind_ns = part->last_ns;
	}
	if (shift_ns)
		shift_ns = behind_ns + PART_GAP_NS - first_ns;
	for (size_t i = first_moment; i < opened->moments.count; i++)
		opened->moments.items[i].time_ns += shift_ns;
	if (last_ns + shift_ns > opened->last_ns)
		opened->last_ns = last_ns + shift_ns;
	return profile_facts_add_part(&opened->facts, name, first_ns + shift_ns,
				      last_ns + shift_ns);
}

static void sort_moments(struct opened_samples *opened)
{
	if (opened->moments.count)
		qsort(opened->moments.items, opened->moments.count, sizeof(*opened->moments.items),
		      compare_moments);
}

static struct sample_event event_of(const struct opened_samples *opened,
				    const struct opened_moment *moment)
{
	return (struct sample_event){
		.sample = sample_table_at(opened->table.blocks.items, moment->sample)->sample,
		.time_ns = moment->time_ns,
		.value = (uint64_t)moment->value,
		.was_known = true,
	};
}

void opened_samples_report_values(struct opened_samples *opened, struct reporter *reporter)
{
	sort_moments(opened);
	for (size_t i = 0; i < opened->moments.count; i++) {
		const struct sample_event event = event_of(opened, &opened->moments.items[i]);

		reporter->ops->report(reporter, &event);
	}
}

uint64_t opened_samples_report(struct opened_samples *opened, struct reporter *reporter)
{
	uint64_t reported = 0;

	sort_moments(opened);
	for (size_t i = 0; i < opened->moments.count; i++) {
		const struct sample_event event = event_of(opened, &opened->moments.items[i]);

		for (int64_t j = 0; j < opened->moments.items[i].value; j++, reported++)
			reporter->ops->report(reporter, &event);
	}
	return reported;
}

void opened_samples_free(struct opened_samples *opened)
{
	if (opened->has_table)
		sample_table_deinit(&opened->table);
	opened->has_table = false;
	opened_moment_vector_deinit(&opened->moments);
}

void opened_samples_deinit(struct opened_samples *opened)
{
	opened_samples_free(opened);
	profile_facts_deinit(&opened->facts);
}
