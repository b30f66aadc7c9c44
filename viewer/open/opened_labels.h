/* SPDX-License-Identifier: Apache-2.0 */
/** The labels of a sample that is read, as the agent keeps them: the first of them, of bounded length. */
#ifndef VIEWER_OPEN_OPENED_LABELS_H
#define VIEWER_OPEN_OPENED_LABELS_H

#include <stdint.h>

#include "lib/model/label_set.h"

/** All bytes zero: none. */
struct opened_labels {
	struct sample_label labels[LABEL_SLOTS_MAX];
	uint32_t count;
	struct text_builder scratch;
	struct label_set set;
};

void opened_labels_clear(struct opened_labels *labels);
void opened_labels_add(struct opened_labels *labels, const char *key, const char *value);
/** What the runtime of the language @kind calls the work. */
void opened_labels_set_number(struct opened_labels *labels, uint8_t kind, uint64_t number);

/** What was added; NULL for nothing. Borrowed until the next one is made. */
const struct label_set *opened_labels_finish(struct opened_labels *labels);
void opened_labels_deinit(struct opened_labels *labels);

#endif
