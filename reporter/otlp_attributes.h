/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The attributes of samples; each goes on the sample's resource or on the sample itself:
 *
 *	attribute			container	process		service
 *	service.name			resource	resource	resource
 *	container.id			resource	resource	sample
 *	process.pid			sample		resource	sample
 *	process.executable.name, .path	sample		resource	sample
 *	process.owner, .parent_pid	sample		resource	sample
 *	process.command_line		sample		resource	sample
 *	those of process_info		sample		resource	sample
 *	thread.name, thread.id		sample		sample		sample
 *	cpu.logical_number		sample		sample		sample
 *	process.context.label.KEY	sample		sample		sample
 *	go.goroutine.id			sample		sample		sample
 *	allframes.jvm.thread.virtual	sample		sample		sample
 *	those of the options		resource	resource	resource
 *	os.description (files)		resource	resource	resource
 *
 * Command lines are there only if the options want them: they can hold secrets.
 * A label is a key and a value, which may be empty, that the program set for its work. Labels and
 * the goroutine's id have no names in the semantic conventions yet (issue 2561). The names here
 * are those of OpenTelemetry's own profiler and of its proposal for event attributes.
 * allframes.jvm.thread.virtual is true for a virtual thread of Java, and absent otherwise;
 * thread.name and thread.id are then those of its carrier. Unknown attributes are left out, except
 * service.name, which is then unknown_service:EXECUTABLE (kernel threads: kernel). A key of the
 * options replaces ours, whether ours is on the resource or on the sample. Samples whose resources
 * have equal attributes share one resource.
 */
#ifndef REPORTER_OTLP_ATTRIBUTES_H
#define REPORTER_OTLP_ATTRIBUTES_H

#include "lib/model/languages.h"
#include "reporter/otlp_dictionary.h"
#include "reporter/otlp_profile.h"

/*
 * Keys of the sample attributes that belong to the process, and of those that belong to the sample.
 */
#define OTLP_PROCESS_KEY_OF_PROCESS(NAME) OTLP_##NAME,
#define OTLP_PROCESS_KEY_OF_SAMPLE(NAME)
#define OTLP_SAMPLE_KEY_OF_PROCESS(NAME)
#define OTLP_SAMPLE_KEY_OF_SAMPLE(NAME) OTLP_##NAME,
#define OTLP_PROCESS_KEY(NAME, field, kind, owner, ...) OTLP_PROCESS_KEY_OF_##owner(NAME)
#define OTLP_SAMPLE_KEY(NAME, field, kind, owner, ...) OTLP_SAMPLE_KEY_OF_##owner(NAME)

/** Our attribute keys. Strings that are used equally often are written in this order. */
enum otlp_key {
	OTLP_SERVICE_NAME,
	OTLP_CONTAINER_ID,
	/** Set only on samples from other machines, where it replaces the options' host.name. */
	OTLP_HOST_NAME,
	SAMPLE_ATTRIBUTES(OTLP_PROCESS_KEY)
	/** The program's file. */
	OTLP_EXECUTABLE_NAME,
	OTLP_EXECUTABLE_PATH,
	OTLP_OWNER,
	OTLP_PARENT_PID,
	OTLP_COMMAND_LINE,
	SAMPLE_ATTRIBUTES(OTLP_SAMPLE_KEY)
	/** Keys of the languages' task ids, and after them of the languages' marks. */
	OTLP_FIRST_TASK_KEY,
	OTLP_FIRST_MARK = OTLP_FIRST_TASK_KEY + LANGUAGE_TASK_KEY_COUNT,
	OTLP_KEY_COUNT = OTLP_FIRST_MARK + LANGUAGE_MARK_COUNT,
};

#undef OTLP_PROCESS_KEY_OF_PROCESS
#undef OTLP_PROCESS_KEY_OF_SAMPLE
#undef OTLP_SAMPLE_KEY_OF_PROCESS
#undef OTLP_SAMPLE_KEY_OF_SAMPLE
#undef OTLP_PROCESS_KEY
#undef OTLP_SAMPLE_KEY

/** The attributes of a process: its resource, and those that go on its samples. */
struct otlp_process {
	uint32_t resource;
	/** Range in process_attributes. */
	uint32_t attribute_count;
	size_t first_attribute;
};

VECTOR_DEFINE(otlp_process_vector, struct otlp_process)

/** The attributes of a set of labels, as a range in label_attributes. */
struct otlp_label_set {
	uint32_t attribute_count;
	size_t first_attribute;
};

VECTOR_DEFINE(otlp_label_set_vector, struct otlp_label_set)

/**
 * Owner: the thread that builds. Caches processes and labels by address: they must outlive this.
 */
struct otlp_attributes {
	/** Borrowed. */
	struct otlp_dictionary *dictionary;
	enum resource_grouping grouping;
	bool with_command_lines;
	/** Ids of the strings; 0 for a key that the options have, whose value replaces ours. */
	uint32_t keys[OTLP_KEY_COUNT];
	/** The options' attributes, no key twice. */
	struct number_vector common;
	/** The ids of each resource's attributes, by resource index from 0. */
	struct sequence_counts resources;
	struct otlp_process_vector processes;
	struct number_vector process_attributes;
	struct hash_map process_indexes;
	struct otlp_label_set_vector label_sets;
	struct number_vector label_attributes;
	struct hash_map label_indexes;
	struct number_vector sequence;
};

void otlp_attributes_init(struct otlp_attributes *attributes, struct otlp_dictionary *dictionary,
			  const struct otlp_options *options);
void otlp_attributes_deinit(struct otlp_attributes *attributes);

/**
 * Returns the index of @sample's resource and appends the ids of the sample's own attributes to
 * @ids. Errors are kept in the dictionary.
 */
uint32_t otlp_attributes_append(struct otlp_attributes *attributes,
				const struct stored_sample *sample, struct number_vector *ids);

/** The attributes of a resource; returns their number. */
uint32_t otlp_resource_attributes(const struct otlp_attributes *attributes, uint32_t resource,
				  const uint32_t **ids);

#endif
