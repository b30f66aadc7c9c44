/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process chooses the texts of labels: they can be any bytes, and only their lengths were checked. They are
 * cleaned here, before they are compared, so that outputs can rely on distinct keys.
 */
#include "lib/model/label_set.h"

#include <stdlib.h>
#include <string.h>

#include "lib/model/languages.h"

enum {
	CHARACTER_MAX_BYTES = 4,
};

bool labels_are_well_formed(const void *labels, size_t bytes)
{
	const struct sample_label *label = labels;
	const size_t count = bytes / sizeof(*label);

	if (bytes % sizeof(*label) || count > LABEL_SLOTS_MAX)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (label[i].key_bytes > LABEL_KEY_MAX_BYTES ||
		    label[i].value_bytes > LABEL_VALUE_MAX_BYTES)
			return false;
		if (!label[i].key_bytes && label[i].value_bytes != sizeof(uint64_t))
			return false;
	}
	return true;
}

/* Length of a UTF-8 character by its first byte. */
static size_t announced_bytes(unsigned char byte)
{
	if (byte < 0xc0)
		return 1;
	return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/* @bytes without an incomplete character at the end. */
static size_t whole_characters(const char *text, size_t bytes)
{
	for (size_t back = 1; back < CHARACTER_MAX_BYTES && back <= bytes; back++) {
		unsigned char byte = text[bytes - back];

		if ((byte & 0xc0) != 0x80)
			return announced_bytes(byte) > back ? bytes - back : bytes;
	}
	return bytes;
}

/* Appends the text and a NUL; returns its offset in @scratch. */
static size_t add_clean(struct text_builder *scratch, const char *text, size_t bytes, size_t max)
{
	char copy[LABEL_VALUE_MAX_BYTES + 1];
	size_t offset = scratch->length;

	/* A longer text may have been cut. */
	if (bytes == max)
		bytes = whole_characters(text, bytes);
	for (size_t i = 0; i < bytes; i++)
		/* A NUL is treated as any other control character. */
		copy[i] = text[i] ? text[i] : '\x01';
	copy[bytes] = '\0';
	text_builder_append_name(scratch, copy);
	text_builder_append_bytes(scratch, "", 1);
	return offset;
}

/* Compares the values too, so that the label that stays does not depend on the program's order. */
static int compare_labels(const void *a, const void *b)
{
	const struct label *label_a = a, *label_b = b;
	int order = strcmp(label_a->key, label_b->key);

	return order ? order : strcmp(label_a->value, label_b->value);
}

static char *put_text(char *to, const char *text)
{
	return stpcpy(to, text) + 1;
}

static void put_labels(struct label_set *set, const struct label *labels, uint32_t count)
{
	char *end = set->texts;

	for (uint32_t i = 0; i < count; i++) {
		if (i && !strcmp(labels[i].key, labels[i - 1].key))
			continue;
		end = put_text(put_text(end, labels[i].key), labels[i].value);
		set->label_count++;
	}
	while ((end - set->texts) % 8)
		*end++ = '\0';
	set->text_bytes = end - set->texts;
}

bool label_set_fill(struct label_set *set, const struct sample_label *labels, uint32_t count,
		    struct text_builder *scratch)
{
	size_t keys[LABELS_MAX], values[LABELS_MAX];
	struct label clean[LABELS_MAX];
	uint32_t clean_count = 0;

	memset(set, 0, offsetof(struct label_set, texts));
	text_builder_clear(scratch);
	for (uint32_t i = 0; i < count; i++) {
		const struct sample_label *label = &labels[i];

		if (!label->key_bytes) {
			/* The language has no key for the ids of its tasks, so there is nothing to report. */
			if (!language_task_key((uint8_t)label->key[0]))
				continue;
			memcpy(&set->task_id, label->value, sizeof(set->task_id));
			set->task_language = (uint8_t)label->key[0];
		} else if (clean_count < LABELS_MAX) {
			keys[clean_count] = add_clean(scratch, label->key, label->key_bytes,
						      LABEL_KEY_MAX_BYTES);
			values[clean_count++] = add_clean(scratch, label->value, label->value_bytes,
							  LABEL_VALUE_MAX_BYTES);
		}
	}
	if (scratch->failed)
		return false;
	for (uint32_t i = 0; i < clean_count; i++)
		clean[i] = (struct label){ scratch->text + keys[i], scratch->text + values[i] };
	qsort(clean, clean_count, sizeof(*clean), compare_labels);
	put_labels(set, clean, clean_count);
	return set->label_count || set->task_language;
}

bool label_is_number(const struct label *label, int64_t *number, const char **unit)
{
	char *end;

	if (*label->value != LABEL_NUMBER_MARK)
		return false;
	*number = strtoll(label->value + 1, &end, 10);
	*unit = *end == ' ' ? end + 1 : end;
	return true;
}

struct label label_set_next(const char **at)
{
	struct label label = { .key = *at };

	label.value = label.key + strlen(label.key) + 1;
	*at = label.value + strlen(label.value) + 1;
	return label;
}
