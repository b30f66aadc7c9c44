/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which attributes of a sample stand on its resource and which on the sample itself:
 *
 *	attribute			container	process		service
 *	service.name			resource	resource	resource
 *	container.id			resource	resource	sample
 *	process.pid			sample		resource	sample
 *	process.executable.name, .path	sample		resource	sample
 *	those of process_info		sample		resource	sample
 *	thread.name, thread.id		sample		sample		sample
 *	cpu.logical_number		sample		sample		sample
 *	process.context.label.KEY	sample		sample		sample
 *	go.goroutine.id			sample		sample		sample
 *	allframes.jvm.thread.virtual	sample		sample		sample
 *	those of the options		resource	resource	resource
 *
 * Labels are what the program gave to its work under KEY (whose value may be empty); they and the number of
 * the goroutine have no names in the conventions yet (semantic-conventions issue 2561); these are what
 * OpenTelemetry's own profiler uses, and what its proposal for event attributes has. The last one is true
 * for a virtual thread of Java, whose carrier thread.name and thread.id are, and is left out else. What is not known is left out, but for service.name, which is then unknown_service:EXECUTABLE (of
 * kernel threads: kernel). A key of the options replaces ours wherever that would stand. Samples
 * whose resources read the same share one.
 */
#ifndef REPORTER_OTLP_ATTRIBUTES_H
#define REPORTER_OTLP_ATTRIBUTES_H

#include "lib/model/languages.h"
#include "reporter/otlp_dictionary.h"
#include "reporter/otlp_profile.h"

/* The keys of the attributes of samples that one owner has. */
#define OTLP_PROCESS_KEY_OF_PROCESS(NAME) OTLP_##NAME,
#define OTLP_PROCESS_KEY_OF_SAMPLE(NAME)
#define OTLP_SAMPLE_KEY_OF_PROCESS(NAME)
#define OTLP_SAMPLE_KEY_OF_SAMPLE(NAME) OTLP_##NAME,
#define OTLP_PROCESS_KEY(NAME, field, kind, owner, ...) OTLP_PROCESS_KEY_OF_##owner(NAME)
#define OTLP_SAMPLE_KEY(NAME, field, kind, owner, ...) OTLP_SAMPLE_KEY_OF_##owner(NAME)

/** Our keys. Among strings of equal use their order is that of the output. */
enum otlp_key {
	OTLP_SERVICE_NAME,
	OTLP_CONTAINER_ID,
	/** Of samples that others sent, in place of what the options have. */
	OTLP_HOST_NAME,
	SAMPLE_ATTRIBUTES(OTLP_PROCESS_KEY)
	/** The program's file. */
	OTLP_EXECUTABLE_NAME,
	OTLP_EXECUTABLE_PATH,
	SAMPLE_ATTRIBUTES(OTLP_SAMPLE_KEY)
	/** Those of numbers that languages have, and behind them of their marks. */
	OTLP_FIRST_NUMBER,
	OTLP_FIRST_MARK = OTLP_FIRST_NUMBER + LANGUAGE_NUMBER_COUNT,
	OTLP_KEY_COUNT = OTLP_FIRST_MARK + LANGUAGE_MARK_COUNT,
};

#undef OTLP_PROCESS_KEY_OF_PROCESS
#undef OTLP_PROCESS_KEY_OF_SAMPLE
#undef OTLP_SAMPLE_KEY_OF_PROCESS
#undef OTLP_SAMPLE_KEY_OF_SAMPLE
#undef OTLP_PROCESS_KEY
#undef OTLP_SAMPLE_KEY

/** A process's part: its resource, and its attributes that stand on the samples. */
struct otlp_process {
	uint32_t resource;
	/** In process_attributes. */
	uint32_t attribute_count;
	size_t first_attribute;
};

VECTOR_DEFINE(otlp_process_vector, struct otlp_process)

/** The attributes that a set of labels is, in label_attributes. */
struct otlp_label_set {
	uint32_t attribute_count;
	size_t first_attribute;
};

VECTOR_DEFINE(otlp_label_set_vector, struct otlp_label_set)

/** Owner: the thread that builds. Remembers processes and labels by address: they must live on. */
struct otlp_attributes {
	/** Borrowed. */
	struct otlp_dictionary *dictionary;
	enum resource_grouping grouping;
	/** Ids of the texts; 0 for a key that the options have, whose value replaces ours. */
	uint32_t keys[OTLP_KEY_COUNT];
	/** The options' attributes, no key twice. */
	struct number_vector common;
	/** Each the ids of its attributes, by number from 0. */
	struct sequence_counts resources;
	struct otlp_process_vector processes;
	struct number_vector process_attributes;
	struct hash_map process_places;
	struct otlp_label_set_vector label_sets;
	struct number_vector label_attributes;
	struct hash_map label_places;
	struct number_vector sequence;
};

void otlp_attributes_init(struct otlp_attributes *attributes, struct otlp_dictionary *dictionary,
			  const struct otlp_options *options);
void otlp_attributes_deinit(struct otlp_attributes *attributes);

/**
 * Returns the number of @sample's resource and appends the ids of its own attributes to @ids.
 * Failure is in the dictionary.
 */
uint32_t otlp_attributes_append(struct otlp_attributes *attributes,
				const struct stored_sample *sample, struct number_vector *ids);

/** The attributes of a resource; returns their number. */
uint32_t otlp_resource_attributes(const struct otlp_attributes *attributes, uint32_t resource,
				  const uint32_t **ids);

#endif
