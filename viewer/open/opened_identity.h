/* SPDX-License-Identifier: Apache-2.0 */
/** Whose samples they are, out of the attributes of OTLP (reporter/otlp_attributes.h), and the labels of samples. */
#ifndef VIEWER_OPEN_OPENED_IDENTITY_H
#define VIEWER_OPEN_OPENED_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/label_set.h"
#include "lib/model/sample.h"
#include "viewer/open/opened_samples.h"

/** The labels of a sample that is read, as the agent keeps them: the first of them, of bounded length. Zeroed: none. */
struct opened_labels {
	struct sample_label labels[LABEL_SLOTS_MAX];
	uint32_t count;
	struct text_builder scratch;
	struct label_set set;
};

void opened_labels_clear(struct opened_labels *labels);
void opened_labels_add(struct opened_labels *labels, const char *key, const char *value);
/** Adds the number by which the runtime of the language @kind knows the work. */
void opened_labels_set_number(struct opened_labels *labels, uint8_t kind, uint64_t number);

/** The labels that were added; NULL if there are none. Borrowed until the next set is made. */
const struct label_set *opened_labels_finish(struct opened_labels *labels);
void opened_labels_deinit(struct opened_labels *labels);

struct opened_value {
	/** "" if it is no text. */
	const char *text;
	/** A truth value is 1 or 0. */
	int64_t number;
};

/** All bytes zero: nothing is known. Texts are borrowed and may be NULL. */
struct opened_identity {
	const char *service_name;
	const char *container_id;
	const char *executable_name;
	const char *executable_path;
	const char *host_name;
	/** Its attributes (SAMPLE_ATTRIBUTES) only. */
	struct sample sample;
	/** enum frame_kind of the language whose mark the stack has; 0: none. */
	uint8_t mark;
	/** What else is said of the process, no key twice. */
	struct attribute attributes[PROCESS_ATTRIBUTES_MAX];
	uint32_t attribute_count;
};

enum {
	/** What is told of more processes than that is left out. */
	OPENED_PROCESSES_MAX = 1 << 16,
	/** Longer texts are left out. */
	OPENED_ATTRIBUTE_MAX_BYTES = 1024,
};

/** Makes samples of identities. All but @opened zero: none yet. */
struct opened_identities {
	/** Where the samples go; borrowed. */
	const struct opened_samples *opened;
	/** The process and the labels of the sample that was made last. */
	struct process_info *process;
	struct opened_labels labels;
};

/** A new sample or resource: no labels. */
void opened_identities_begin(struct opened_identities *identities);

/** Sets what the attribute says in @identity; labels are kept beside it. */
void opened_identities_set(struct opened_identities *identities, struct opened_identity *identity,
			   const char *key, const struct opened_value *value);

/** The sample with @trace; borrowed from @trace, @identity and @identities, until the next begin. -ENOMEM. */
int opened_identities_sample(struct opened_identities *identities,
			     const struct opened_identity *identity, struct trace *trace,
			     struct sample *sample);

void opened_identities_deinit(struct opened_identities *identities);

#endif
