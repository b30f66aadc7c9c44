/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/opened_labels.h"

#include <string.h>

#include "lib/base/text.h"

void opened_labels_clear(struct opened_labels *labels)
{
	labels->count = 0;
}

/* Copies @text, cut to @capacity bytes; returns its length. */
static uint8_t put_text(char *to, const char *text, size_t capacity)
{
	size_t length = text_cut_length(text, strnlen(text, capacity + 1), capacity);

	memcpy(to, text, length);
	return (uint8_t)length;
}

void opened_labels_add(struct opened_labels *labels, const char *key, const char *value)
{
	struct sample_label *label = &labels->labels[labels->count];

	/* A slot is left for a number. */
	if (!*key || labels->count >= LABELS_MAX)
		return;
	label->key_bytes = put_text(label->key, key, sizeof(label->key));
	label->value_bytes = put_text(label->value, value, sizeof(label->value));
	if (label->key_bytes)
		labels->count++;
}

void opened_labels_set_number(struct opened_labels *labels, uint8_t kind, uint64_t number)
{
	struct sample_label *label = &labels->labels[labels->count];

	if (labels->count >= LABEL_SLOTS_MAX)
		return;
	label->key_bytes = 0;
	label->key[0] = (char)kind;
	label->value_bytes = sizeof(number);
	memcpy(label->value, &number, sizeof(number));
	labels->count++;
}

const struct label_set *opened_labels_finish(struct opened_labels *labels)
{
	return labels->count && label_set_fill(&labels->set, labels->labels, labels->count,
					       &labels->scratch) ?
		       &labels->set :
		       NULL;
}

void opened_labels_deinit(struct opened_labels *labels)
{
	text_builder_deinit(&labels->scratch);
}
