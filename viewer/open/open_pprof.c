/* SPDX-License-Identifier: Apache-2.0 */
/* Ids and indices in the file may be invalid; what refers to a missing entry is skipped. */
#include "viewer/open/open_pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "build/proto/profile.pb-c.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/base/text.h"
#include "lib/model/languages.h"
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
	/* The type of each value. */
	uint32_t *types;
};

/* --- the tables --- */

static int refuse_two(void)
{
	return fail(
		-EBADMSG,
		"an id stands in it twice, as in pprof files that were put together: open each by itself");
}

#define INDEX_BY_ID(reader, table, items, count)                                                   \
	({                                                                                         \
		int index_err = 0;                                                                 \
		uint64_t known;                                                                    \
		for (size_t i = 0; i < (count) && !index_err; i++)                                 \
			index_err = hash_map_find(&(reader)->table, (items)[i]->id, &known) ?      \
					    refuse_two() :                                         \
					    hash_map_set(&(reader)->table, (items)[i]->id, i);     \
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
	int64_t start_line = 0;
	struct opened_name name = { 0 };
	uint64_t function_index;
	struct frame frame;

	if (hash_map_find(&reader->functions, line->function_id, &function_index)) {
		const Pprof__Function *entry = reader->profile->function[function_index];

		function = opened_names_name(&reader->names, entry->name, &name);
		file = opened_names_text(&reader->names, entry->filename);
		start_line = entry->start_line;
		opened_name_find_address(&name, function, mapping);
	}
	frame = opened_frame_make(
		mapping, mapping == &reader->nowhere ? opened_kind_of_file(file) : FRAME_NATIVE,
		function, &name, file, line->line, line->column);
	/* For a frame without a name, the text has the address where the function begins. */
	if (frame.kind != FRAME_ERROR && !(name.marks & OPENED_NAMELESS))
		frame.address = location->address;
	opened_frame_set_start(&frame, start_line);
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

/*
 * True for a location that only names the process, above its stack: one that the agent made (-with-processes), or pprof
 * (-tagroot comm). The samples have the name as a label.
 */
static bool is_process(const struct pprof_reader *reader, uint64_t id, const char *comm)
{
	const Pprof__Location *location;
	const Pprof__Function *function;
	uint64_t index;

	if (!comm || !hash_map_find(&reader->locations, id, &index))
		return false;
	location = reader->profile->location[index];
	if (location->mapping_id || location->address || location->n_line != 1 ||
	    location->line[0]->line ||
	    !hash_map_find(&reader->functions, location->line[0]->function_id, &index))
		return false;
	function = reader->profile->function[index];
	return !*opened_names_text(&reader->names, function->filename) &&
	       !strcmp(opened_names_text(&reader->names, function->name),
		       *comm ? comm : "[unknown]");
}

static int push_stack(struct pprof_reader *reader, const Pprof__Sample *sample, const char *comm)
{
	size_t count = sample->n_location_id;
	int err = 0;

	if (count && is_process(reader, sample->location_id[count - 1], comm))
		count--;
	for (size_t i = 0; i < count && !err && !opened_stack_is_full(&reader->stack); i++) {
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

/* False if the key is not an attribute of samples, or if its value is not one of the attribute. */
static bool read_attribute(const Pprof__Label *label, const char *key, const char *text,
			   struct sample *sample)
{
	for (uint32_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT; i++) {
		bool is_text = sample_attributes[i].kind == ATTRIBUTE_TEXT;

		if (!*key || strcmp(key, sample_attributes[i].pprof) || is_text != (*text != 0))
			continue;
		/* A second value becomes a label. */
		if (is_text ? *sample_text(sample, i) != 0 :
			      label->num < 0 || label->num > UINT32_MAX ||
				      sample_number(sample, i) != sample_attributes[i].unknown)
			return false;
		if (is_text)
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

	if (read_attribute(label, key, text, sample) || read_language_key(reader, label, key))
		return;
	/* The agent has added this prefix to a program's own key. */
	if (text_starts_with(key, "label."))
		key += strlen("label.");
	if (*text)
		opened_labels_add(&reader->labels, key, text);
	else
		opened_labels_add_number(&reader->labels, key, label->num,
					 opened_names_text(&reader->names, label->num_unit));
}

/* The name of the process; NULL: it has none. */
static const char *comm_of(const struct pprof_reader *reader, const Pprof__Sample *sample)
{
	const char *key = sample_attributes[SAMPLE_COMM].pprof;

	for (size_t i = 0; i < sample->n_label; i++)
		if (!strcmp(opened_names_text(&reader->names, (uint64_t)sample->label[i]->key),
			    key))
			return opened_names_text(&reader->names, (uint64_t)sample->label[i]->str);
	return NULL;
}

static int read_sample(struct pprof_reader *reader, const Pprof__Sample *sample)
{
	struct sample identity = opened_sample_unknown();
	int err;

	err = push_stack(reader, sample, comm_of(reader, sample));
	if (err)
		return err;
	opened_labels_clear(&reader->labels);
	for (size_t i = 0; i < sample->n_label; i++)
		read_label(reader, sample->label[i], &identity);
	identity.labels = opened_labels_finish(&reader->labels);
	identity.trace = opened_stack_finish(&reader->stack);
	if (!identity.trace)
		return -ENOMEM;
	for (size_t i = 0; i < sample->n_value && i < reader->profile->n_sample_type && !err; i++)
		err = opened_samples_put(reader->opened, &identity, reader->types[i],
					 reader->opened->start_ns, sample->value[i]);
	trace_unref(identity.trace);
	return err;
}

static const char *text_of(const struct pprof_reader *reader, int64_t index)
{
	return opened_names_text(&reader->names, (uint64_t)index);
}

static int read_types(struct pprof_reader *reader)
{
	const Pprof__Profile *profile = reader->profile;
	int err = 0;

	reader->types = calloc(profile->n_sample_type + 1, sizeof(*reader->types));
	if (!reader->types)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_sample_type && !err; i++) {
		const Pprof__ValueType *type = profile->sample_type[i];

		err = profile_facts_add_type(&reader->opened->facts, text_of(reader, type->type),
					     text_of(reader, type->unit), &reader->types[i]);
	}
	return err;
}

static int read_facts(struct pprof_reader *reader)
{
	const Pprof__Profile *profile = reader->profile;
	const Pprof__ValueType *type = profile->period_type;
	struct opened_samples *opened = reader->opened;
	int err = 0;

	opened->facts.has_time = profile->time_nanos > 0;
	if (opened->facts.has_time)
		opened->start_ns = (uint64_t)profile->time_nanos;
	if (profile->duration_nanos > 0)
		opened->facts.duration_ns = (uint64_t)profile->duration_nanos;
	if (type)
		err = profile_facts_set_period(&opened->facts, text_of(reader, type->type),
					       text_of(reader, type->unit), profile->period);
	for (size_t i = 0; i < profile->n_comment && !err; i++)
		err = profile_facts_add_comment(&opened->facts,
						text_of(reader, profile->comment[i]));
	opened_samples_set_rate(opened);
	return err;
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
	err = read_types(reader);
	if (!err)
		err = read_facts(reader);
	for (size_t i = 0; i < profile->n_sample && !err; i++)
		err = read_sample(reader, profile->sample[i]);
	if (!err)
		opened_samples_choose_type(reader->opened,
					   text_of(reader, profile->default_sample_type));
	return err;
}

static void pprof_reader_deinit(struct pprof_reader *reader)
{
	for (size_t i = 0; reader->opened_mappings && i < reader->profile->n_mapping; i++)
		opened_mapping_deinit(&reader->opened_mappings[i]);
	free(reader->opened_mappings);
	free(reader->types);
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
