/* SPDX-License-Identifier: Apache-2.0 */
/* Ids and indices in the file may be invalid; what refers to a missing entry is skipped. */
#include "viewer/open/open_pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "build/proto/profile.pb-c.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/base/text.h"
#include "lib/model/languages.h"
#include "lib/model/origins.h"
#include "viewer/open/decode_budget.h"
#include "viewer/open/opened_frame.h"
#include "viewer/open/opened_identity.h"

struct pprof_reader {
	const Pprof__Profile *profile;
	struct opened_samples *opened;
	struct opened_names names;
	/* Maps from id to index. */
	struct hash_map locations;
	struct hash_map functions;
	struct hash_map mappings;
	/* Mappings by index, and the mapping of locations without one. */
	struct opened_mapping *opened_mappings;
	struct opened_mapping nowhere;
	struct opened_stack stack;
	struct opened_labels labels;
	/* The index of the value that is used, and the amount that counts as one sample. */
	size_t value;
	uint64_t unit;
	const char *program;
};

/* --- the tables --- */

#define INDEX_BY_ID(reader, table, items, count)                                                   \
	({                                                                                         \
		int index_err = 0;                                                                 \
		for (size_t i = 0; i < (count) && !index_err; i++)                                 \
			index_err = hash_map_set(&(reader)->table, (items)[i]->id, i);             \
		index_err;                                                                         \
	})

static int index_tables(struct pprof_reader *reader)
{
	const Pprof__Profile *profile = reader->profile;
	int err = INDEX_BY_ID(reader, locations, profile->location, profile->n_location);

	if (!err)
		err = INDEX_BY_ID(reader, functions, profile->function, profile->n_function);
	if (!err)
		err = INDEX_BY_ID(reader, mappings, profile->mapping, profile->n_mapping);
	return err;
}

static int make_mappings(struct pprof_reader *reader)
{
	const Pprof__Profile *profile = reader->profile;
	int err = opened_mapping_init_nowhere(&reader->nowhere, reader->opened);

	if (profile->n_mapping > OPENED_MAPPINGS_MAX)
		return fail(-EBADMSG, "it names more than %d files", OPENED_MAPPINGS_MAX);
	reader->opened_mappings = calloc(profile->n_mapping + 1, sizeof(*reader->opened_mappings));
	if (!reader->opened_mappings)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_mapping && !err; i++) {
		const Pprof__Mapping *mapping = profile->mapping[i];
		struct binary values = {
			.path = (char *)opened_names_text(&reader->names, mapping->filename),
			.memory_start = mapping->memory_start,
			.memory_limit = mapping->memory_limit,
			.file_offset = mapping->file_offset,
		};

		opened_build_id(opened_names_text(&reader->names, mapping->build_id), &values);
		err = opened_mapping_init(&reader->opened_mappings[i], &values, reader->opened);
		if (!err && !reader->program && reader->opened_mappings[i].kind == OPENED_FILE)
			reader->program = binary_name(reader->opened_mappings[i].binary);
	}
	return err;
}

/* --- stacks --- */

static struct opened_mapping *mapping_of(struct pprof_reader *reader, uint64_t id)
{
	uint64_t index;

	return hash_map_find(&reader->mappings, id, &index) ? &reader->opened_mappings[index] :
							      &reader->nowhere;
}

static int push_line(struct pprof_reader *reader, const Pprof__Location *location, size_t index)
{
	const Pprof__Line *line = location->line[index];
	const struct opened_mapping *mapping = mapping_of(reader, location->mapping_id);
	const char *function = "", *file = "";
	struct opened_name name = { 0 };
	uint64_t function_index;
	struct frame frame;

	if (hash_map_find(&reader->functions, line->function_id, &function_index)) {
		const Pprof__Function *entry = reader->profile->function[function_index];

		function = opened_names_name(&reader->names, entry->name, &name);
		file = opened_names_text(&reader->names, entry->filename);
	}
	frame = opened_frame_make(
		mapping, mapping == &reader->nowhere ? opened_kind_of_file(file) : FRAME_NATIVE,
		function, &name, file, line->line, line->column);
	/* For a frame without a name, the text has the address where the function begins. */
	if (frame.kind != FRAME_ERROR && !(name.marks & OPENED_NAMELESS))
		frame.address = location->address;
	if (index + 1 < location->n_line)
		frame.flags |= FRAME_INLINED;
	return opened_stack_push(&reader->stack, &frame);
}

static int push_location(struct pprof_reader *reader, const Pprof__Location *location)
{
	const struct opened_name nameless = { .marks = OPENED_NAMELESS,
					      .address = location->address };
	struct frame frame;
	int err = 0;

	if (!location->n_line) {
		frame = opened_frame_make(mapping_of(reader, location->mapping_id), FRAME_NATIVE,
					  "", &nameless, "", 0, 0);
		return opened_stack_push(&reader->stack, &frame);
	}
	for (size_t i = 0; i < location->n_line && !err && !opened_stack_is_full(&reader->stack);
	     i++)
		err = push_line(reader, location, i);
	return err;
}

static int push_stack(struct pprof_reader *reader, const Pprof__Sample *sample)
{
	int err = 0;

	for (size_t i = 0;
	     i < sample->n_location_id && !err && !opened_stack_is_full(&reader->stack); i++) {
		uint64_t index;

		if (hash_map_find(&reader->locations, sample->location_id[i], &index))
			err = push_location(reader, reader->profile->location[index]);
	}
	return err;
}

/* --- samples --- */

/* Reads the runtime's id for the work, or a mark of the stack; false if the key is neither. */
static bool read_language_key(struct pprof_reader *reader, const Pprof__Label *label,
			      const char *key)
{
	for (uint32_t i = 0; i < LANGUAGE_TASK_KEY_COUNT; i++) {
		if (strcmp(key, language_task_keys[i].pprof) || !label->num)
			continue;
		opened_labels_set_task_id(&reader->labels, language_task_keys[i].kind,
					  (uint64_t)label->num);
		return true;
	}
	for (uint32_t i = 0; i < LANGUAGE_MARK_COUNT; i++) {
		if (strcmp(key, language_marks[i].pprof))
			continue;
		opened_stack_set_mark(&reader->stack, language_marks[i].kind);
		return true;
	}
	return false;
}

/* False if the key is not an attribute of samples. */
static bool read_attribute(const Pprof__Label *label, const char *key, const char *text,
			   struct sample *sample)
{
	for (uint32_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT; i++) {
		if (!*key || strcmp(key, sample_attributes[i].pprof))
			continue;
		if (sample_attributes[i].kind == ATTRIBUTE_TEXT)
			sample_set_text(sample, i, text);
		else
			sample_set_number(sample, i, (uint32_t)label->num);
		return true;
	}
	return false;
}

static void read_label(struct pprof_reader *reader, const Pprof__Label *label,
		       struct sample *sample)
{
	const char *key = opened_names_text(&reader->names, label->key);
	const char *text = opened_names_text(&reader->names, label->str);

	if (!read_attribute(label, key, text, sample) && !read_language_key(reader, label, key) &&
	    *text)
		/* The agent has added this prefix to a program's own key. */
		opened_labels_add(&reader->labels,
				  text_starts_with(key, "label.") ? key + strlen("label.") : key,
				  text);
}

static uint64_t count_of(const struct pprof_reader *reader, const Pprof__Sample *sample)
{
	int64_t value = reader->value < sample->n_value ? sample->value[reader->value] : 0;

	if (value <= 0)
		return 0;
	/* Rounded: half a period or more is one sample. */
	return ((uint64_t)value + reader->unit / 2) / reader->unit;
}

static int read_sample(struct pprof_reader *reader, const Pprof__Sample *sample)
{
	uint64_t count = count_of(reader, sample);
	struct sample identity = { .process_comm = reader->program };
	int err;

	if (!count)
		return 0;
	err = push_stack(reader, sample);
	if (err)
		return err;
	opened_labels_clear(&reader->labels);
	for (size_t i = 0; i < sample->n_label; i++)
		read_label(reader, sample->label[i], &identity);
	if (!identity.thread_comm)
		identity.thread_comm = identity.process_comm;
	identity.labels = opened_labels_finish(&reader->labels);
	identity.trace = opened_stack_finish(&reader->stack);
	if (!identity.trace)
		return -ENOMEM;
	err = opened_samples_begin(reader->opened, &identity);
	trace_unref(identity.trace);
	return err ? err : opened_samples_add(reader->opened, reader->opened->start_ns, count);
}

static bool is_type(const struct pprof_reader *reader, const Pprof__ValueType *type,
		    const char *name, const char *unit)
{
	return type && (!name || !strcmp(opened_names_text(&reader->names, type->type), name)) &&
	       !strcmp(opened_names_text(&reader->names, type->unit), unit);
}

/*
 * Chooses the samples, if they are counted; else any value with a period, by that; else the last
 * value unchanged.
 */
static void choose_value(struct pprof_reader *reader)
{
	const Pprof__Profile *profile = reader->profile;
	const struct sample_origin *origin = &sample_origins[ORIGIN_CLOCK];

	reader->unit = 1;
	for (size_t i = 0; i < profile->n_sample_type; i++) {
		reader->value = i;
		if (is_type(reader, profile->sample_type[i], origin->type, origin->unit))
			return;
	}
	if (profile->n_sample_type && profile->period_type && profile->period > 0 &&
	    profile->sample_type[reader->value]->unit == profile->period_type->unit)
		reader->unit = (uint64_t)profile->period;
}

static void read_facts(struct pprof_reader *reader)
{
	const Pprof__Profile *profile = reader->profile;
	struct opened_samples *opened = reader->opened;

	if (profile->time_nanos > 0)
		opened->start_ns = (uint64_t)profile->time_nanos;
	opened->duration_ns = profile->duration_nanos > 0 ? (uint64_t)profile->duration_nanos : 0;
	if (is_type(reader, profile->period_type, NULL, "nanoseconds") && profile->period > 0 &&
	    profile->period <= (int64_t)NS_PER_SECOND)
		opened->samples_per_second =
			(NS_PER_SECOND + (uint64_t)profile->period / 2) / (uint64_t)profile->period;
}

static int read_all(struct pprof_reader *reader)
{
	const Pprof__Profile *profile = reader->profile;
	int err = opened_names_init(&reader->names, profile->string_table, profile->n_string_table);

	if (!err)
		err = index_tables(reader);
	if (!err)
		err = make_mappings(reader);
	if (err)
		return err;
	if (!reader->program)
		reader->program = "profile";
	choose_value(reader);
	read_facts(reader);
	for (size_t i = 0; i < profile->n_sample && !err; i++)
		err = read_sample(reader, profile->sample[i]);
	return err;
}

static void pprof_reader_deinit(struct pprof_reader *reader)
{
	for (size_t i = 0; reader->opened_mappings && i < reader->profile->n_mapping; i++)
		opened_mapping_deinit(&reader->opened_mappings[i]);
	free(reader->opened_mappings);
	opened_mapping_deinit(&reader->nowhere);
	opened_names_deinit(&reader->names);
	hash_map_deinit(&reader->locations);
	hash_map_deinit(&reader->functions);
	hash_map_deinit(&reader->mappings);
	opened_stack_deinit(&reader->stack);
	opened_labels_deinit(&reader->labels);
}

int open_pprof(const void *bytes, size_t count, size_t max_bytes, struct opened_samples *opened)
{
	struct decode_budget budget;
	struct pprof_reader reader = { .opened = opened };
	Pprof__Profile *profile;
	int err;

	opened_samples_init(opened);
	decode_budget_init(&budget, max_bytes);
	profile = pprof__profile__unpack(&budget.allocator, count, bytes);
	if (!profile)
		return fail(-EBADMSG, "it is no pprof profile, is damaged or too large");
	reader.profile = profile;
	err = read_all(&reader);
	pprof_reader_deinit(&reader);
	pprof__profile__free_unpacked(profile, &budget.allocator);
	return err;
}
