/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/label_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct sample_label label_of(const char *key, size_t key_bytes, const char *value,
				    size_t value_bytes)
{
	struct sample_label label = { .key_bytes = key_bytes, .value_bytes = value_bytes };

	/* Bytes behind the lengths mean nothing. */
	memset(label.key, '#', sizeof(label.key));
	memset(label.value, '#', sizeof(label.value));
	memcpy(label.key, key, key_bytes);
	memcpy(label.value, value, value_bytes);
	return label;
}

#define LABEL(key, value) label_of(key, sizeof(key) - 1, value, sizeof(value) - 1)

static bool fill(struct label_set *set, const struct sample_label *labels, uint32_t count)
{
	struct text_builder scratch = { 0 };
	bool is_filled = label_set_fill(set, labels, count, &scratch);

	text_builder_deinit(&scratch);
	return is_filled;
}

static void assert_next(const char **at, const char *key, const char *value)
{
	struct label label = label_set_next(at);

	assert_string_equal(label.key, key);
	assert_string_equal(label.value, value);
}

static void labels_are_sorted_and_a_key_stands_there_once(void **state)
{
	const struct sample_label labels[] = { LABEL("b", "2"), LABEL("a", "1"), LABEL("b", "1"),
					       LABEL("aa", "") };
	const struct sample_label turned[] = { labels[2], labels[3], labels[1], labels[0] };
	struct label_set set, again;
	const char *at = set.texts;

	(void)state;
	assert_true(fill(&set, labels, 4));
	assert_int_equal(set.label_count, 3);
	assert_int_equal(set.task_language, 0);
	assert_next(&at, "a", "1");
	assert_next(&at, "aa", "");
	assert_next(&at, "b", "1");
	assert_int_equal(label_set_bytes(&set) % 8, 0);
	memset(&again, 0xff, sizeof(again));
	assert_true(fill(&again, turned, 4));
	assert_int_equal(label_set_bytes(&again), label_set_bytes(&set));
	assert_memory_equal(&again, &set, label_set_bytes(&set));
}

static void texts_are_cleaned_as_names_are(void **state)
{
	const struct sample_label labels[] = { LABEL("k\n\x1b", "v\xff\xc3\xa9"),
					       LABEL("a\0b", "\0") };
	struct label_set set;
	const char *at = set.texts;

	(void)state;
	assert_true(fill(&set, labels, 2));
	assert_next(&at, "a?b", "?");
	assert_next(&at, "k ?", "v?\xc3\xa9");
}

static void keys_that_become_the_same_are_one(void **state)
{
	const struct sample_label labels[] = { LABEL("k\x01", "2"), LABEL("k\x02", "1") };
	struct label_set set;
	const char *at = set.texts;

	(void)state;
	assert_true(fill(&set, labels, 2));
	assert_int_equal(set.label_count, 1);
	assert_next(&at, "k?", "1");
}

/* A label whose texts are as long as can be and end in @tail. */
static struct sample_label full_label(const char *tail)
{
	struct sample_label label = { .key_bytes = LABEL_KEY_MAX_BYTES,
				      .value_bytes = LABEL_VALUE_MAX_BYTES };

	memset(label.key, 'k', sizeof(label.key));
	memset(label.value, 'v', sizeof(label.value));
	memcpy(label.key + sizeof(label.key) - strlen(tail), tail, strlen(tail));
	memcpy(label.value + sizeof(label.value) - strlen(tail), tail, strlen(tail));
	return label;
}

static void what_was_cut_ends_with_a_whole_character(void **state)
{
	static const struct {
		const char *tail;
		size_t lost;
	} cases[] = {
		{ "x", 0 },
		{ "\xc3\xa9", 0 },
		{ "\xc3", 1 },
		{ "\xe2\x82", 2 },
		{ "\xf0\x9f\x98", 3 },
		{ "\xf0\x9f\x98\x80", 0 },
		/* No beginning at all: not cut, but no text. */
		{ "\x80\x80\x80\x80", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sample_label label = full_label(cases[i].tail);
		struct label_set set;
		const char *at = set.texts;
		struct label clean;

		assert_true(fill(&set, &label, 1));
		clean = label_set_next(&at);
		assert_int_equal(strlen(clean.key), LABEL_KEY_MAX_BYTES - cases[i].lost);
		assert_int_equal(strlen(clean.value), LABEL_VALUE_MAX_BYTES - cases[i].lost);
	}
}

static void all_that_a_record_can_hold_has_room(void **state)
{
	struct sample_label labels[LABEL_SLOTS_MAX + 1];
	const uint64_t id = 42;
	/* On the heap, so that a write beyond the end is detected. */
	struct label_set *set = malloc(sizeof(*set));

	(void)state;
	for (int i = 0; i <= LABEL_SLOTS_MAX; i++) {
		labels[i] = full_label("x");
		labels[i].key[0] = 'a' + i;
	}
	labels[LABELS_MAX] = label_of("", 0, (const char *)&id, sizeof(id));
	labels[LABELS_MAX].key[0] = FRAME_GO;
	/* One label more than records can have is left out. */
	assert_true(fill(set, labels, LABEL_SLOTS_MAX + 1));
	assert_int_equal(set->label_count, LABELS_MAX);
	assert_int_equal(set->text_bytes, LABEL_SET_TEXT_MAX_BYTES);
	assert_int_equal(set->task_language, FRAME_GO);
	assert_int_equal(set->task_id, id);
	free(set);
}

static void nothing_is_no_set(void **state)
{
	const uint64_t id = 0;
	struct sample_label label = label_of("", 0, (const char *)&id, sizeof(id));
	struct label_set set;

	(void)state;
	assert_false(fill(&set, NULL, 0));
	/* No language, and one whose numbers have no name. */
	assert_false(fill(&set, &label, 1));
	label.key[0] = FRAME_JAVA;
	assert_false(fill(&set, &label, 1));
	label.key[0] = FRAME_GO;
	assert_true(fill(&set, &label, 1));
	assert_int_equal(set.label_count, 0);
	assert_int_equal(set.text_bytes, 0);
}

static void the_shape_of_labels_is_checked(void **state)
{
	struct sample_label labels[LABEL_SLOTS_MAX + 1];
	const struct sample_label good = LABEL("k", "v");

	(void)state;
	for (int i = 0; i <= LABEL_SLOTS_MAX; i++)
		labels[i] = good;
	assert_true(labels_are_well_formed(labels, 0));
	assert_true(labels_are_well_formed(labels, LABEL_SLOTS_MAX * sizeof(*labels)));
	assert_false(labels_are_well_formed(labels, sizeof(labels)));
	assert_false(labels_are_well_formed(labels, 8));
	labels[1].key_bytes = LABEL_KEY_MAX_BYTES + 1;
	assert_true(labels_are_well_formed(labels, sizeof(*labels)));
	assert_false(labels_are_well_formed(labels, 2 * sizeof(*labels)));
	labels[1] = good;
	labels[1].value_bytes = LABEL_VALUE_MAX_BYTES + 1;
	assert_false(labels_are_well_formed(labels, 2 * sizeof(*labels)));
	labels[1] = good;
	/* A goroutine's id has 8 bytes. */
	labels[1].key_bytes = 0;
	assert_false(labels_are_well_formed(labels, 2 * sizeof(*labels)));
	labels[1].value_bytes = sizeof(uint64_t);
	assert_true(labels_are_well_formed(labels, 2 * sizeof(*labels)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_are_sorted_and_a_key_stands_there_once),
		cmocka_unit_test(texts_are_cleaned_as_names_are),
		cmocka_unit_test(keys_that_become_the_same_are_one),
		cmocka_unit_test(what_was_cut_ends_with_a_whole_character),
		cmocka_unit_test(all_that_a_record_can_hold_has_room),
		cmocka_unit_test(nothing_is_no_set),
		cmocka_unit_test(the_shape_of_labels_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
