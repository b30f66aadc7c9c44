/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attributes of a process and of a set of labels are collected once; per sample only the thread
 * and the CPU are left. Texts of processes and threads may hold any bytes; the dictionary cleans
 * them.
 */

#include "reporter/otlp_attributes.h"

#include <string.h>

static const char *const key_names[OTLP_KEY_COUNT] = {
	[OTLP_SERVICE_NAME] = "service.name",
	[OTLP_CONTAINER_ID] = "container.id",
	[OTLP_HOST_NAME] = "host.name",
	[OTLP_EXECUTABLE_NAME] = "process.executable.name",
	[OTLP_EXECUTABLE_PATH] = "process.executable.path",
	[OTLP_OWNER] = "process.owner",
	[OTLP_PARENT_PID] = "process.parent_pid",
	[OTLP_COMMAND_LINE] = "process.command_line",
#define X(NAME, field, kind, owner, unknown, otlp, ...) [OTLP_##NAME] = otlp,
	SAMPLE_ATTRIBUTES(X)
#undef X
#define X(NAME, otlp, pprof) [OTLP_FIRST_TASK_KEY + LANGUAGE_TASK_KEY_##NAME] = otlp,
		LANGUAGE_TASK_KEYS(X)
#undef X
#define X(NAME, otlp, pprof) [OTLP_FIRST_MARK + LANGUAGE_MARK_##NAME] = otlp,
			LANGUAGE_MARKS(X)
#undef X
};

static const enum otlp_key attribute_keys[SAMPLE_ATTRIBUTE_COUNT] = {
#define X(NAME, ...) [SAMPLE_##NAME] = OTLP_##NAME,
	SAMPLE_ATTRIBUTES(X)
#undef X
};

/* None of our keys has this prefix, so a program cannot forge our attributes. */
#define LABEL_KEY_PREFIX "process.context.label."

/* Everything that the attributes of a process depend on. No padding. */
struct process_key {
	uint64_t process;
	uint64_t is_kernel_thread;
	/* Numbers, and ids of strings; 0 for attributes that do not belong to the process. */
	uint64_t attributes[SAMPLE_ATTRIBUTE_COUNT];
};

/* --- attributes of the options --- */

static void append_id(struct otlp_attributes *attributes, struct number_vector *ids, uint32_t id)
{
	if (!attributes->dictionary->err)
		attributes->dictionary->err = number_vector_push(ids, id);
}

static bool is_replaced(const struct otlp_options *options, const uint32_t *keys, size_t index)
{
	for (size_t i = index + 1; i < options->attribute_count; i++) {
		if (keys[i] == keys[index])
			return true;
	}
	return false;
}

static void add_common(struct otlp_attributes *attributes, const struct otlp_options *options)
{
	struct otlp_dictionary *dictionary = attributes->dictionary;
	struct number_vector keys = { 0 };

	for (size_t i = 0; i < options->attribute_count && !dictionary->err; i++)
		dictionary->err = number_vector_push(
			&keys, otlp_add_string(dictionary, options->attributes[i].key));
	for (size_t i = 0; i < options->attribute_count && !dictionary->err; i++) {
		const struct otlp_attribute *attribute = &options->attributes[i];
		uint32_t id;

		for (int j = 0; j < OTLP_KEY_COUNT; j++) {
			if (attributes->keys[j] == keys.items[i] && j != OTLP_HOST_NAME)
				attributes->keys[j] = 0;
		}
		if (is_replaced(options, keys.items, i) || !keys.items[i])
			continue;
		id = otlp_add_text_attribute(dictionary, attribute->key, attribute->value);
		append_id(attributes, &attributes->common, id);
	}
	number_vector_deinit(&keys);
}

/* True if the options have an attribute with the key @key, a text's id. */
static bool is_common(const struct otlp_attributes *attributes, uint32_t key)
{
	for (size_t i = 0; i < attributes->common.count; i++)
		if (otlp_attribute(attributes->dictionary, attributes->common.items[i]).key == key)
			return true;
	return false;
}

/* Adds the kernel as the description of the operating system, unless the options have one. */
static void add_system(struct otlp_attributes *attributes, const struct profile_info *info)
{
	struct otlp_dictionary *dictionary = attributes->dictionary;
	struct otlp_attribute_entry entry = { .kind = OTLP_VALUE_TEXT };

	if (info->facts || !info->kernel || !*info->kernel)
		return;
	entry.key = otlp_add_string(dictionary, "os.description");
	text_builder_append(&dictionary->text, "Linux ");
	text_builder_append_name(&dictionary->text, info->kernel);
	entry.value = otlp_add_built_string(dictionary);
	if (!is_common(attributes, entry.key))
		append_id(attributes, &attributes->common, otlp_add_attribute(dictionary, &entry));
}

void otlp_attributes_init(struct otlp_attributes *attributes, struct otlp_dictionary *dictionary,
			  const struct otlp_options *options)
{
	*attributes = (struct otlp_attributes){
		.dictionary = dictionary,
		.grouping = options->grouping,
		.with_command_lines = options->with_command_lines,
	};
	for (int i = 0; i < OTLP_KEY_COUNT; i++)
		attributes->keys[i] = otlp_add_string(dictionary, key_names[i]);
	add_common(attributes, options);
	if (options->info)
		add_system(attributes, options->info);
}

void otlp_attributes_deinit(struct otlp_attributes *attributes)
{
	number_vector_deinit(&attributes->common);
	sequence_counts_deinit(&attributes->resources);
	otlp_process_vector_deinit(&attributes->processes);
	hash_map_deinit(&attributes->process_indexes);
	number_vector_deinit(&attributes->process_attributes);
	otlp_label_set_vector_deinit(&attributes->label_sets);
	number_vector_deinit(&attributes->label_attributes);
	hash_map_deinit(&attributes->label_indexes);
	number_vector_deinit(&attributes->sequence);
}

/* --- processes --- */

static bool is_on_resource(enum resource_grouping grouping, enum otlp_key key)
{
	switch (key) {
	case OTLP_SERVICE_NAME:
	case OTLP_HOST_NAME:
		return true;
	case OTLP_CONTAINER_ID:
		return grouping != GROUP_BY_SERVICE;
	case OTLP_EXECUTABLE_NAME:
	case OTLP_EXECUTABLE_PATH:
	case OTLP_OWNER:
	case OTLP_PARENT_PID:
	case OTLP_COMMAND_LINE:
		return grouping == GROUP_BY_PROCESS;
	default:
		return false;
	}
}

/* Skips an empty text, and a key that the options have replaced. */
static void append(struct otlp_attributes *attributes, enum otlp_key key, enum otlp_value_kind kind,
		   int64_t value, struct number_vector *ids)
{
	struct otlp_attribute_entry attribute = {
		.key = attributes->keys[key],
		.kind = kind,
		.value = value,
	};

	if (attribute.key && (kind != OTLP_VALUE_TEXT || value))
		append_id(attributes, ids, otlp_add_attribute(attributes->dictionary, &attribute));
}

/*
 * Adds an attribute to the process's resource, which is in attributes->sequence, or to the
 * process's attributes for samples.
 */
static void add_attribute(struct otlp_attributes *attributes, enum otlp_key key,
			  enum otlp_value_kind kind, int64_t value)
{
	append(attributes, key, kind, value,
	       is_on_resource(attributes->grouping, key) ? &attributes->sequence :
							   &attributes->process_attributes);
}

static void add_text(struct otlp_attributes *attributes, enum otlp_key key, const char *text)
{
	add_attribute(attributes, key, OTLP_VALUE_TEXT,
		      otlp_add_string(attributes->dictionary, text));
}

static void add_service_name(struct otlp_attributes *attributes, const struct stored_sample *sample)
{
	struct text_builder *text = &attributes->dictionary->text;
	const struct process_info *info = sample->sample.process;
	const char *executable = info ? process_info_executable_name(info) : "";

	if (sample->sample.trace->is_kernel_thread)
		executable = "kernel";
	else if (!*executable)
		executable = sample->sample.process_comm;
	if (info && *info->service_name) {
		text_builder_append_name(text, info->service_name);
	} else {
		text_builder_append(text, "unknown_service:");
		text_builder_append_name(text, executable);
	}
	add_attribute(attributes, OTLP_SERVICE_NAME, OTLP_VALUE_TEXT,
		      otlp_add_built_string(attributes->dictionary));
}

/*
 * The list for process attributes that go on the resource only if the resource is a single process.
 */
static struct number_vector *process_ids(struct otlp_attributes *attributes)
{
	return attributes->grouping == GROUP_BY_PROCESS ? &attributes->sequence :
							  &attributes->process_attributes;
}

/* Appends the sample attributes that belong to @owner. */
static void append_owned(struct otlp_attributes *attributes, const struct sample *sample,
			 enum sample_attribute_owner owner, struct number_vector *ids)
{
	for (uint32_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT; i++) {
		if (sample_attributes[i].owner != owner)
			continue;
		if (sample_attributes[i].kind == ATTRIBUTE_TEXT)
			append(attributes, attribute_keys[i], OTLP_VALUE_TEXT,
			       otlp_add_string(attributes->dictionary, sample_text(sample, i)),
			       ids);
		else if (sample_number(sample, i) != sample_attributes[i].unknown)
			append(attributes, attribute_keys[i], OTLP_VALUE_NUMBER,
			       sample_number(sample, i), ids);
	}
}

/* Adds an attribute that a language gives for the process, unless the options set it. */
static void add_language_attribute(struct otlp_attributes *attributes,
				   const struct attribute *attribute)
{
	struct otlp_dictionary *dictionary = attributes->dictionary;
	struct otlp_attribute_entry entry = {
		.key = otlp_add_string(dictionary, attribute->key),
		.kind = OTLP_VALUE_TEXT,
		.value = otlp_add_string(dictionary, attribute->text),
	};

	if (!is_common(attributes, entry.key))
		append_id(attributes, process_ids(attributes),
			  otlp_add_attribute(dictionary, &entry));
}

static void add_program(struct otlp_attributes *attributes, const struct process_info *info)
{
	add_text(attributes, OTLP_EXECUTABLE_NAME, process_info_executable_name(info));
	add_text(attributes, OTLP_EXECUTABLE_PATH, info->executable_path);
	add_text(attributes, OTLP_OWNER, info->user_name);
	if (info->parent_pid)
		add_attribute(attributes, OTLP_PARENT_PID, OTLP_VALUE_NUMBER, info->parent_pid);
	if (attributes->with_command_lines)
		add_text(attributes, OTLP_COMMAND_LINE, info->command_line);
	for (uint32_t i = 0; i < info->attribute_count; i++)
		add_language_attribute(attributes, &info->attributes[i]);
}

static bool is_host_name(const struct otlp_attributes *attributes, uint32_t id)
{
	return otlp_attribute(attributes->dictionary, id).key == attributes->keys[OTLP_HOST_NAME];
}

static void make_process(struct otlp_attributes *attributes, const struct stored_sample *sample,
			 struct otlp_process *process)
{
	const struct process_info *info = sample->sample.process;
	struct otlp_dictionary *dictionary = attributes->dictionary;
	size_t resource = 0;

	attributes->sequence.count = 0;
	process->first_attribute = attributes->process_attributes.count;
	add_service_name(attributes, sample);
	if (info) {
		add_text(attributes, OTLP_CONTAINER_ID, info->container_id);
		add_text(attributes, OTLP_HOST_NAME, info->host_name);
	}
	append_owned(attributes, &sample->sample, ATTRIBUTE_OF_PROCESS, process_ids(attributes));
	if (info)
		add_program(attributes, info);
	for (size_t i = 0; i < attributes->common.count; i++)
		if (!info || !*info->host_name ||
		    !is_host_name(attributes, attributes->common.items[i]))
			append_id(attributes, &attributes->sequence, attributes->common.items[i]);
	if (!dictionary->err)
		dictionary->err = sequence_counts_index(&attributes->resources,
							&attributes->sequence, &resource);
	process->resource = resource;
	process->attribute_count = attributes->process_attributes.count - process->first_attribute;
}

static struct process_key process_key_of(struct otlp_attributes *attributes,
					 const struct sample *sample)
{
	struct process_key key = {
		.process = (uintptr_t)sample->process,
		.is_kernel_thread = sample->trace->is_kernel_thread,
	};

	for (uint32_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT; i++)
		if (sample_attributes[i].owner == ATTRIBUTE_OF_PROCESS)
			key.attributes[i] = sample_attributes[i].kind == ATTRIBUTE_TEXT ?
						    otlp_add_string(attributes->dictionary,
								    sample_text(sample, i)) :
						    sample_number(sample, i);
	return key;
}

/* The index in attributes->processes of @sample's process, which is added if it is new. */
static uint64_t find_process(struct otlp_attributes *attributes, const struct stored_sample *sample)
{
	struct otlp_dictionary *dictionary = attributes->dictionary;
	struct process_key key = process_key_of(attributes, &sample->sample);
	struct otlp_process process = { 0 };
	uint64_t found = 0;

	if (hash_map_find_bytes(&attributes->process_indexes, &key, sizeof(key), &found))
		return found;
	make_process(attributes, sample, &process);
	found = attributes->processes.count;
	if (!dictionary->err)
		dictionary->err = otlp_process_vector_push(&attributes->processes, process);
	if (!dictionary->err)
		dictionary->err =
			hash_map_set_bytes(&attributes->process_indexes, &key, sizeof(key), found);
	return found;
}

/* --- labels --- */

static void append_label(struct otlp_attributes *attributes, const struct label *label)
{
	struct otlp_dictionary *dictionary = attributes->dictionary;
	struct otlp_attribute_entry attribute = { .kind = OTLP_VALUE_TEXT };
	const char *unit;

	text_builder_append(&dictionary->text, LABEL_KEY_PREFIX);
	text_builder_append_name(&dictionary->text, label->key);
	attribute.key = otlp_add_built_string(dictionary);
	if (label_is_number(label, &attribute.value, &unit))
		attribute.kind = OTLP_VALUE_NUMBER;
	else
		attribute.value = otlp_add_string(dictionary, label->value);
	if (!is_common(attributes, attribute.key))
		append_id(attributes, &attributes->label_attributes,
			  otlp_add_attribute(dictionary, &attribute));
}

static void make_label_set(struct otlp_attributes *attributes, const struct label_set *labels,
			   struct otlp_label_set *set)
{
	const struct language_key *task_key = language_task_key(labels->task_language);
	const char *at = labels->texts, *last = NULL;

	set->first_attribute = attributes->label_attributes.count;
	for (uint32_t i = 0; i < labels->label_count; i++) {
		struct label label = label_set_next(&at);

		/* No key of OTLP's attributes may be there twice. */
		if (!last || strcmp(last, label.key))
			append_label(attributes, &label);
		last = label.key;
	}
	if (task_key)
		append(attributes, OTLP_FIRST_TASK_KEY + (uint32_t)(task_key - language_task_keys),
		       OTLP_VALUE_NUMBER, (int64_t)labels->task_id, &attributes->label_attributes);
	set->attribute_count = attributes->label_attributes.count - set->first_attribute;
}

static void append_labels(struct otlp_attributes *attributes, const struct label_set *labels,
			  struct number_vector *ids)
{
	struct otlp_dictionary *dictionary = attributes->dictionary;
	struct otlp_label_set set = { 0 };
	uint64_t index = 0;

	if (hash_map_find(&attributes->label_indexes, (uintptr_t)labels, &index)) {
		set = attributes->label_sets.items[index];
	} else {
		make_label_set(attributes, labels, &set);
		index = attributes->label_sets.count;
		if (!dictionary->err)
			dictionary->err = otlp_label_set_vector_push(&attributes->label_sets, set);
		if (!dictionary->err)
			dictionary->err =
				hash_map_set(&attributes->label_indexes, (uintptr_t)labels, index);
	}
	for (uint32_t i = 0; i < set.attribute_count && !dictionary->err; i++)
		append_id(attributes, ids,
			  attributes->label_attributes.items[set.first_attribute + i]);
}

/* --- samples --- */

uint32_t otlp_attributes_append(struct otlp_attributes *attributes,
				const struct stored_sample *sample, struct number_vector *ids)
{
	struct otlp_dictionary *dictionary = attributes->dictionary;
	const struct language_key *mark = language_mark(sample->sample.trace->mark);
	uint64_t found = find_process(attributes, sample);
	const struct otlp_process *process;

	if (dictionary->err)
		return 0;
	process = &attributes->processes.items[found];
	for (uint32_t i = 0; i < process->attribute_count; i++)
		append_id(attributes, ids,
			  attributes->process_attributes.items[process->first_attribute + i]);
	append_owned(attributes, &sample->sample, ATTRIBUTE_OF_SAMPLE, ids);
	if (mark)
		append(attributes, OTLP_FIRST_MARK + (uint32_t)(mark - language_marks),
		       OTLP_VALUE_TRUE, 0, ids);
	if (sample->sample.labels)
		append_labels(attributes, sample->sample.labels, ids);
	return process->resource;
}

uint32_t otlp_resource_attributes(const struct otlp_attributes *attributes, uint32_t resource,
				  const uint32_t **ids)
{
	const struct counted_sequence *sequence = &attributes->resources.sequences.items[resource];

	*ids = attributes->resources.numbers.items + sequence->first;
	return sequence->length;
}
