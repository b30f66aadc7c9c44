/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The process, thread and labels of opened samples, from the attributes of OTLP
 * (reporter/otlp_attributes.h).
 */
#ifndef VIEWER_OPEN_OPENED_IDENTITY_H
#define VIEWER_OPEN_OPENED_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/label_set.h"
#include "lib/model/sample.h"
#include "viewer/open/opened_samples.h"

/**
 * The labels of a sample: the first PROFILE_LABELS_MAX, and texts are cut to PROFILE_LABEL_TEXT_MAX_BYTES. Initialize
 * with zeros.
 */
struct opened_labels {
	/** Offsets in texts of the keys; each has its value behind it. */
	size_t labels[PROFILE_LABELS_MAX];
	uint32_t count;
	struct text_builder texts;
	uint8_t task_language;
	uint64_t task_id;
	/** The last set that was made. */
	struct label_set *set;
	size_t set_capacity;
};

void opened_labels_clear(struct opened_labels *labels);
void opened_labels_add(struct opened_labels *labels, const char *key, const char *value);
/** @unit: "" for none. */
void opened_labels_add_number(struct opened_labels *labels, const char *key, int64_t number,
			      const char *unit);
/**
 * Adds the id that the runtime of language @kind gives to a unit of work, such as a goroutine.
 */
void opened_labels_set_task_id(struct opened_labels *labels, uint8_t kind, uint64_t id);

/** The added labels; NULL if there are none, or no memory. Borrowed until the next set is made. */
const struct label_set *opened_labels_finish(struct opened_labels *labels);
void opened_labels_deinit(struct opened_labels *labels);

struct opened_value {
	/** "" if the value is not a text. */
	const char *text;
	/** A boolean is 1 or 0. */
	int64_t number;
	bool is_number;
};

/** Initialize with zeros, which means unknown. Texts are borrowed and may be NULL. */
struct opened_identity {
	const char *service_name;
	const char *container_id;
	const char *executable_name;
	const char *executable_path;
	const char *host_name;
	const char *user_name;
	const char *command_line;
	/** 0: not known. */
	uint32_t parent_pid;
	/** Only its attributes (SAMPLE_ATTRIBUTES) are used. */
	struct sample sample;
	/** enum frame_kind of the language whose mark the stack has; 0: none. */
	uint8_t mark;
	/** Other attributes of the process; no key occurs twice. */
	struct attribute attributes[PROCESS_ATTRIBUTES_MAX];
	uint32_t attribute_count;
};

enum {
	/** Attributes of further processes are skipped. */
	OPENED_PROCESSES_MAX = 1 << 16,
	/** Longer texts are skipped. */
	OPENED_ATTRIBUTE_MAX_BYTES = 1024,
};

/** Makes samples from identities. Initialize all but @opened with zeros. */
struct opened_identities {
	/** The destination of the samples; borrowed. */
	const struct opened_samples *opened;
	/** The process and the labels of the last sample. */
	struct process_info *process;
	struct opened_labels labels;
};

/** Starts a new sample or resource, without labels. */
void opened_identities_begin(struct opened_identities *identities);

/** Stores the attribute in @identity; labels are stored in @identities. */
void opened_identities_set(struct opened_identities *identities, struct opened_identity *identity,
			   const char *key, const struct opened_value *value);

/**
 * Makes the sample with @trace. It is borrowed from @trace, @identity and @identities until the
 * next begin. -ENOMEM.
 */
int opened_identities_sample(struct opened_identities *identities,
			     const struct opened_identity *identity, struct trace *trace,
			     struct sample *sample);

void opened_identities_deinit(struct opened_identities *identities);

#endif
