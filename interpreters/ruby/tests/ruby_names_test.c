/* SPDX-License-Identifier: Apache-2.0 */
/* A sequence and a method of 3.3 that are made here: their names, before and after they are freed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "ebpf/abi/frame.h"
#include "interpreters/ruby/ruby_names.h"

enum {
	SEQUENCE = 0x1000,
	BODY = 0x1100,
	LABEL = 0x1200,
	PATHS = 0x1300,
	PATH = 0x1400,
	LINES = 0x1500,
	INDEX = 0x1600,
	INSTRUCTIONS = 0x1700,
	METHOD = 0x1800,
	DEFINITION = 0x1900,
	SYMBOLS = 0x1a00,
	ARRAYS = 0x1b00,
	ARRAY = 0x1c00,
	ELEMENTS = 0x2000,
	TEXT = 0x7000,
	CLASS = 0x7100,
	SINGLETON_CLASS = 0x7200,
	CLASS_PATH = 0x7300,
	OUTER = 0x7400,
	OUTER_BODY = 0x7500,
	OUTER_LABEL = 0x7600,
	END = 0x8000,
	/** Flags: a String, one that is not embedded, an Array. */
	STRING = 5,
	SEPARATE_STRING = 5 | 1 << 13,
	ARRAY_OBJECT = 7,
	EMBEDDED_ARRAY = 7 | 1 << 13,
	IMEMO_SEQUENCE = 0x1a | 7 << 12,
	IMEMO_METHOD = 0x1a | 6 << 12,
	CLASS_OBJECT = 2,
	SINGLETON_CLASS_OBJECT = 2 | 1 << 13,
	MODULE_OBJECT = 3,
	ID = 600 << 4,
};

struct fake {
	struct remote_memory memory;
	uint8_t bytes[END];
	/** Number of the read at which the label changes; 0: never. */
	int changes_at;
	int reads;
	struct ruby_names names;
	uint32_t object;
};

static void put(struct fake *fake, uint64_t address, uint64_t word)
{
	memcpy(fake->bytes + address, &word, sizeof(word));
}

static void put_string(struct fake *fake, uint64_t address, const char *text)
{
	put(fake, address, STRING);
	put(fake, address + 16, strlen(text));
	memcpy(fake->bytes + address + 24, text, strlen(text));
}

static int read_fake(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct fake *fake = (struct fake *)memory;

	if (++fake->reads == fake->changes_at)
		put_string(fake, LABEL, "other");
	if (address >= END || bytes > END - address)
		return -EFAULT;
	memcpy(buffer, fake->bytes + address, bytes);
	return 0;
}

static void put_sequence(struct fake *fake)
{
	put(fake, SEQUENCE, IMEMO_SEQUENCE);
	put(fake, SEQUENCE + 16, BODY);
	put(fake, BODY, 20ULL << 32 | 1);
	put(fake, BODY + 8, INSTRUCTIONS);
	put(fake, BODY + 64, PATHS);
	put(fake, BODY + 80, LABEL);
	put(fake, BODY + 88, 10);
	put(fake, BODY + 112, LINES);
	put(fake, BODY + 128, 2);
	put(fake, BODY + 136, INDEX);
	put_string(fake, LABEL, "block in foo");
	put(fake, PATHS, EMBEDDED_ARRAY | 2 << 15);
	put(fake, PATHS + 16, PATH);
	put_string(fake, PATH, "a.rb");
	/* Entries of 12 bytes: line 11 from position 0 on, line 13 from position 5 on. */
	put(fake, LINES, 11);
	put(fake, LINES + 12, 13);
	for (uint32_t position = 0; position < 20; position++) {
		uint64_t word;

		memcpy(&word, fake->bytes + INDEX + position / 9 * 8, sizeof(word));
		put(fake, INDEX + position / 9 * 8,
		    word | (uint64_t)(position < 5 ? 1 : 2) << 7 * (position % 9));
	}
}

/* Writes classes of 3.4: Foo::Bar and its singleton class. */
static void put_classes(struct fake *fake)
{
	put(fake, METHOD + 32, CLASS);
	put(fake, CLASS, CLASS_OBJECT);
	put(fake, CLASS + 144, 1ULL << 40);
	put(fake, CLASS + 152, CLASS_PATH);
	put_string(fake, CLASS_PATH, "Foo::Bar");
	/* The sequence is a block in a method. */
	put(fake, BODY, 20ULL << 32 | 2);
	put(fake, BODY + 160, OUTER);
	put(fake, BODY + 168, OUTER);
	put(fake, OUTER, IMEMO_SEQUENCE);
	put(fake, OUTER + 16, OUTER_BODY);
	put(fake, OUTER_BODY, 1);
	put(fake, OUTER_BODY + 80, OUTER_LABEL);
	put(fake, OUTER_BODY + 168, OUTER);
	put_string(fake, OUTER_LABEL, "foo");
	put(fake, SINGLETON_CLASS, SINGLETON_CLASS_OBJECT);
	put(fake, SINGLETON_CLASS + 128, CLASS);
}

static void put_method(struct fake *fake)
{
	put(fake, METHOD, IMEMO_METHOD);
	put(fake, METHOD + 16, DEFINITION);
	put(fake, DEFINITION + 32, ID);
	put(fake, SYMBOLS + 16, ARRAYS);
	put(fake, ARRAYS, EMBEDDED_ARRAY | 2 << 15);
	put(fake, ARRAYS + 24, ARRAY);
	put(fake, ARRAY, ARRAY_OBJECT);
	put(fake, ARRAY + 16, 1024);
	put(fake, ARRAY + 32, ELEMENTS);
	put(fake, ELEMENTS + (600 - 512) * 2 * 8, TEXT);
	put_string(fake, TEXT, "each");
}

static int set_up(void **state)
{
	static const struct remote_memory_ops ops = { .read = read_fake };
	static struct fake fake;
	const struct ruby_layout *layout = ruby_layout_of(RUBY_VERSION(3, 3));
	struct ruby_process process = { 0 };

	memset(&fake, 0, sizeof(fake));
	fake.memory.ops = &ops;
	put_sequence(&fake);
	put_method(&fake);
	ruby_names_describe(layout, &process);
	ruby_names_init(&fake.names, layout, &process, SYMBOLS);
	*state = &fake;
	return 0;
}

static int tear_down(void **state)
{
	ruby_names_deinit(&((struct fake *)*state)->names);
	return 0;
}

static uint64_t mix(const struct fake *fake, uint64_t sum, uint64_t address, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t word;

		memcpy(&word, fake->bytes + address + 8ULL * i, sizeof(word));
		sum = fingerprint_mix(sum, word);
	}
	return sum;
}

static void use_version(struct fake *fake, uint16_t version)
{
	const struct ruby_layout *layout = ruby_layout_of(version);
	struct ruby_process process = { 0 };

	ruby_names_describe(layout, &process);
	ruby_names_deinit(&fake->names);
	ruby_names_init(&fake->names, layout, &process, SYMBOLS);
	fake->object = 0;
}

/* Computes the fingerprint of a method as the kernel side does, if its class has a path. */
static uint32_t method_fingerprint(const struct fake *fake)
{
	uint64_t sum = mix(fake, 0, METHOD + 8, 4);

	sum = fingerprint_mix(sum, CLASS);
	sum = mix(fake, sum, CLASS + 152, 1);
	return fingerprint_end(mix(fake, sum, CLASS_PATH + 16, 3));
}

/* Computes the fingerprint of a sequence as the kernel side does. */
static uint32_t sequence_fingerprint(const struct fake *fake)
{
	static const uint32_t words[] = { 0, 8, 64, 80, 88 };
	uint64_t sum = BODY;

	for (size_t i = 0; i < 5; i++)
		sum = mix(fake, sum, BODY + words[i], 1);
	sum = mix(fake, sum, LABEL + 16, 3);
	sum = mix(fake, sum, PATHS + 16, 3);
	return fingerprint_end(mix(fake, sum, PATH + 16, 3));
}

static int symbolize(struct fake *fake, uint64_t address, uint32_t position, uint32_t fingerprint,
		     struct interpreted_frame *frame)
{
	const uint64_t words[2] = { frame_word(FRAME_RUBY, 0, address),
				    (uint64_t)position << 32 | fingerprint };

	return ruby_names_symbolize(&fake->names, &fake->memory, words, &fake->object, frame);
}

static void a_sequence_has_its_label_and_the_line_before_its_pc(void **state)
{
	static const uint32_t lines[][2] = {
		{ 0, 11 }, { 1, 11 }, { 5, 11 }, { 6, 13 }, { 20, 13 }
	};
	struct fake *fake = *state;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct interpreted_frame frame = { 0 };

		assert_int_equal(symbolize(fake, SEQUENCE, lines[i][0], sequence_fingerprint(fake),
					   &frame),
				 0);
		assert_string_equal(frame.function, "block in foo");
		assert_string_equal(frame.file, "a.rb");
		assert_int_equal(frame.line, lines[i][1]);
		assert_int_equal(frame.start_line, 10);
	}
}

static void a_position_behind_the_tables_is_at_the_first_line(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;

	assert_int_equal(symbolize(fake, SEQUENCE, 1000, sequence_fingerprint(fake), &frame), 0);
	assert_int_equal(frame.line, 10);
}

static void a_path_may_be_a_string_of_its_own(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;
	uint64_t sum = BODY;

	put_string(fake, PATHS, "(eval)");
	for (size_t i = 0; i < 5; i++)
		sum = mix(fake, sum, BODY + (const uint32_t[]){ 0, 8, 64, 80, 88 }[i], 1);
	sum = mix(fake, sum, LABEL + 16, 3);
	assert_int_equal(symbolize(fake, SEQUENCE, 1,
				   fingerprint_end(mix(fake, sum, PATHS + 16, 3)), &frame),
			 0);
	assert_string_equal(frame.file, "(eval)");
}

static void a_method_in_c_is_named_by_its_symbol(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;
	uint32_t fingerprint = fingerprint_end(mix(fake, 0, METHOD + 8, 4));

	assert_int_equal(symbolize(fake, METHOD, RUBY_METHOD_ENTRY, fingerprint, &frame), 0);
	assert_string_equal(frame.function, "each");
	assert_string_equal(frame.file, "<cfunc>");
	assert_int_equal(frame.line, 0);
	assert_int_equal(frame.start_line, 0);
}

static int symbolize_owned(struct fake *fake, struct interpreted_frame *frame)
{
	uint64_t both = fingerprint_mix(sequence_fingerprint(fake), method_fingerprint(fake));
	const uint64_t words[3] = { frame_word(FRAME_RUBY, FRAME_HAS_OWNER, SEQUENCE),
				    1ULL << 32 | fingerprint_end(both), METHOD };

	fake->object = 0;
	return ruby_names_symbolize(&fake->names, &fake->memory, words, &fake->object, frame);
}

static void names_of_3_4_have_the_class_of_the_method(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;

	use_version(fake, RUBY_VERSION(3, 4));
	put_classes(fake);
	assert_int_equal(symbolize_owned(fake, &frame), 0);
	assert_string_equal(frame.function, "block in Foo::Bar#foo");
	assert_int_equal(frame.line, 11);
	fake->object = 0;
	assert_int_equal(
		symbolize(fake, METHOD, RUBY_METHOD_ENTRY, method_fingerprint(fake), &frame), 0);
	assert_string_equal(frame.function, "Foo::Bar#each");
	put(fake, METHOD + 32, SINGLETON_CLASS);
	assert_int_equal(symbolize_owned(fake, &frame), 0);
	assert_string_equal(frame.function, "block in Foo::Bar.foo");
	/* Without a method there is no class. */
	fake->object = 0;
	assert_int_equal(symbolize(fake, SEQUENCE, 1, sequence_fingerprint(fake), &frame), 0);
	assert_string_equal(frame.function, "block in foo");
}

static void what_the_collector_does_needs_no_memory(void **state)
{
	static const char *const names[] = { "[GC marking]", "[GC sweeping]", "[GC compacting]" };
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;

	for (uint32_t mode = 1; mode <= 3; mode++) {
		fake->object = 0;
		assert_int_equal(symbolize(fake, mode, RUBY_COLLECTOR, mode, &frame), 0);
		assert_string_equal(frame.function, names[mode - 1]);
		assert_null(frame.file);
		assert_int_not_equal(fake->object, 0);
	}
	assert_int_equal(symbolize(fake, 0, RUBY_COLLECTOR, 1, &frame), -EBADMSG);
	assert_int_equal(symbolize(fake, 4, RUBY_COLLECTOR, 1, &frame), -EBADMSG);
	assert_int_equal(fake->reads, 0);
}

static void a_class_without_a_lasting_name_is_left_out(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;

	use_version(fake, RUBY_VERSION(3, 4));
	put_classes(fake);
	put(fake, CLASS + 144, 0);
	assert_int_equal(symbolize_owned(fake, &frame), 0);
	assert_string_equal(frame.function, "block in foo");
	put(fake, CLASS + 144, 1ULL << 40);
	put(fake, CLASS, MODULE_OBJECT);
	use_version(fake, RUBY_VERSION(3, 4));
	assert_int_equal(symbolize_owned(fake, &frame), 0);
	assert_string_equal(frame.function, "block in Foo::Bar#foo");
}

static void a_class_that_became_another_is_not_shown(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;
	uint32_t fingerprint;

	use_version(fake, RUBY_VERSION(3, 4));
	put_classes(fake);
	fingerprint = method_fingerprint(fake);
	put_string(fake, CLASS_PATH, "Foo::Baz");
	assert_int_equal(symbolize(fake, METHOD, RUBY_METHOD_ENTRY, fingerprint, &frame), -ESTALE);
	put_classes(fake);
	put(fake, METHOD + 32, DEFINITION);
	assert_int_equal(symbolize(fake, METHOD, RUBY_METHOD_ENTRY, fingerprint, &frame), -ESTALE);
	put(fake, METHOD + 32, END);
	assert_int_equal(symbolize(fake, METHOD, RUBY_METHOD_ENTRY, fingerprint, &frame), -ESTALE);
}

static void a_label_that_became_another_is_not_shown(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;
	uint32_t fingerprint = sequence_fingerprint(fake);

	put_string(fake, LABEL, "block in bar");
	assert_int_equal(symbolize(fake, SEQUENCE, 1, fingerprint, &frame), -ESTALE);
	/* The object changes at any read. */
	for (int read = 1; read < 20; read++) {
		int err;

		put_sequence(fake);
		ruby_names_deinit(&fake->names);
		ruby_names_init(&fake->names, fake->names.layout, &fake->names.process, SYMBOLS);
		fake->object = 0;
		fake->reads = 0;
		fake->changes_at = read;
		err = symbolize(fake, SEQUENCE, 1, fingerprint, &frame);
		assert_true(err == -ESTALE || (!err && !strcmp(frame.function, "block in foo")));
	}
}

static void an_object_that_was_freed_is_stale(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;
	uint32_t fingerprint = sequence_fingerprint(fake);

	put(fake, SEQUENCE, 0);
	assert_int_equal(symbolize(fake, SEQUENCE, 1, fingerprint, &frame), -ESTALE);
	put(fake, SEQUENCE, IMEMO_METHOD);
	assert_int_equal(symbolize(fake, SEQUENCE, 1, fingerprint, &frame), -ESTALE);
	assert_int_equal(symbolize(fake, SEQUENCE, 1, 0, &frame), -ESTALE);
	assert_int_equal(symbolize(fake, END + 16, 1, fingerprint, &frame), -ESTALE);
}

static void what_is_known_needs_no_memory(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;
	uint32_t fingerprint = sequence_fingerprint(fake);

	assert_int_equal(symbolize(fake, SEQUENCE, 1, fingerprint, &frame), 0);
	assert_int_not_equal(fake->object, 0);
	fake->reads = 0;
	assert_int_equal(symbolize(fake, SEQUENCE, 6, fingerprint, &frame), 0);
	assert_int_equal(frame.line, 13);
	assert_int_equal(fake->reads, 0);
}

static void long_texts_are_cut_and_wild_ones_refused(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;

	put(fake, LABEL, SEPARATE_STRING);
	put(fake, LABEL + 16, 6000);
	put(fake, LABEL + 24, 0x2000);
	memset(fake->bytes + 0x2000, 'a', 6000);
	assert_int_equal(symbolize(fake, SEQUENCE, 1, sequence_fingerprint(fake), &frame), 0);
	assert_int_equal(strlen(frame.function), FRAME_NAME_MAX_BYTES);
	put(fake, LABEL + 16, UINT64_MAX);
	fake->object = 0;
	assert_int_equal(symbolize(fake, SEQUENCE, 1, sequence_fingerprint(fake), &frame),
			 -EBADMSG);
	put(fake, LABEL, ARRAY_OBJECT);
	assert_int_equal(symbolize(fake, SEQUENCE, 1, sequence_fingerprint(fake), &frame),
			 -EBADMSG);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_sequence_has_its_label_and_the_line_before_its_pc),
		TEST(a_position_behind_the_tables_is_at_the_first_line),
		TEST(a_path_may_be_a_string_of_its_own),
		TEST(a_method_in_c_is_named_by_its_symbol),
		TEST(names_of_3_4_have_the_class_of_the_method),
		TEST(what_the_collector_does_needs_no_memory),
		TEST(a_class_without_a_lasting_name_is_left_out),
		TEST(a_class_that_became_another_is_not_shown),
		TEST(a_label_that_became_another_is_not_shown),
		TEST(an_object_that_was_freed_is_stale),
		TEST(what_is_known_needs_no_memory),
		TEST(long_texts_are_cut_and_wild_ones_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
