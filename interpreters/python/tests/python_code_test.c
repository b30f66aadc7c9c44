/* SPDX-License-Identifier: Apache-2.0 */
/* A code object of 3.9 that is made here: it is freed, and its memory is hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "interpreters/python/python_code.h"

enum {
	CODE = 0x1000,
	NAME = 0x1400,
	FILENAME = 0x1800,
	TABLE = 0x1c00,
	QUALIFIED_NAME = 0x2000,
	INSTRUCTIONS = 0x3000,
	END = 0x8000
};

struct fake_memory {
	struct remote_memory memory;
	uint8_t bytes[END];
	/** Number of the read at which the object changes; 0: never. */
	int changes_at;
	/** Number of the read at which it is freed and its file name's memory gets another string; 0: never. */
	int frees_at;
	int reads;
	/** The last value of `object`, and the fingerprint that it belongs to. */
	uint32_t object;
	uint32_t fingerprint;
};

static void put(struct fake_memory *fake, uint64_t address, uint64_t word)
{
	memcpy(fake->bytes + address, &word, sizeof(word));
}

static void put_string(struct fake_memory *fake, uint64_t address, const void *characters,
		       uint64_t count, uint32_t kind, bool is_ascii)
{
	put(fake, address + 16, count);
	put(fake, address + 24, address * 77);
	put(fake, address + 32, kind << 2 | 1 << 5 | is_ascii << 6 | 1 << 7);
	memcpy(fake->bytes + address + (is_ascii ? 48 : 72), characters, count * kind);
}

static int read_fake(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct fake_memory *fake = (struct fake_memory *)memory;

	if (++fake->reads == fake->changes_at)
		fake->bytes[CODE + 40]++;
	if (fake->reads == fake->frees_at) {
		put(fake, CODE, 0);
		put_string(fake, FILENAME, "other", 5, 1, true);
		put(fake, FILENAME, 1);
	}
	if (address >= END || bytes > END - address)
		return -EFAULT;
	memcpy(buffer, fake->bytes + address, bytes);
	return 0;
}

static void put_string_of_3_12(struct fake_memory *fake, uint64_t address, const char *text)
{
	put(fake, address + 16, strlen(text));
	put(fake, address + 32, 1 << 2 | 1 << 5 | 1 << 6);
	strcpy((char *)fake->bytes + address + 40, text);
}

static void put_code(struct fake_memory *fake)
{
	static const struct remote_memory_ops ops = { .read = read_fake };

	memset(fake, 0, sizeof(*fake));
	fake->memory.ops = &ops;
	put(fake, CODE, 3);
	put(fake, CODE + 40, 10);
	put(fake, CODE + 48, INSTRUCTIONS);
	put(fake, CODE + 104, FILENAME);
	put(fake, CODE + 112, NAME);
	put(fake, CODE + 120, TABLE);
	put_string(fake, NAME, "name", 4, 1, true);
	put_string(fake, FILENAME, "a\xe9", 2, 1, false);
	put(fake, INSTRUCTIONS + 16, 8);
	put(fake, TABLE + 16, 4);
	memcpy(fake->bytes + TABLE + 32, "\0\1\6\3", 4);
}

static void cache_of_3_9(struct python_code_cache *cache)
{
	struct python_process process = { 0 };
	struct python_layout layout;

	assert_int_equal(python_layout_init(&layout, PYTHON_VERSION(3, 9), false), 0);
	assert_int_equal(python_code_describe(&layout, &process), 0);
	python_code_cache_init(cache, &layout, &process);
}

static int symbolize(struct python_code_cache *cache, struct fake_memory *fake,
		     uint32_t fingerprint, uint32_t position, struct interpreted_frame *frame)
{
	uint64_t words[2] = { frame_word(FRAME_PYTHON, 0, CODE),
			      (uint64_t)position << 32 | fingerprint };

	if (fake->fingerprint != fingerprint)
		fake->object = 0;
	fake->fingerprint = fingerprint;
	return python_code_symbolize(cache, &fake->memory, words, &fake->object, frame);
}

static void a_code_object_is_named(void **state)
{
	static struct python_code_cache cache;
	static struct fake_memory fake;
	struct interpreted_frame frame;
	uint32_t fingerprint;

	(void)state;
	put_code(&fake);
	cache_of_3_9(&cache);
	assert_int_equal(python_code_read_fingerprint(&cache, &fake.memory, CODE, &fingerprint), 0);
	assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), 0);
	assert_string_equal(frame.function, "name");
	assert_string_equal(frame.file, "a\xc3\xa9");
	assert_int_equal(frame.line, 11);
	assert_int_equal(symbolize(&cache, &fake, fingerprint, 6, &frame), 0);
	assert_int_equal(frame.line, 14);
	/* The cache needs neither the memory nor the object. */
	memset(fake.bytes, 0, sizeof(fake.bytes));
	fake.reads = 0;
	assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), 0);
	assert_string_equal(frame.function, "name");
	assert_int_equal(fake.reads, 0);
	python_code_cache_deinit(&cache);
}

static void the_frame_between_a_class_and_its_init_is_no_function(void **state)
{
	static struct python_code_cache cache;
	static struct fake_memory fake;
	struct interpreted_frame frame = { 0 };
	struct python_process process = { 0 };
	struct python_layout layout;
	uint32_t fingerprint;

	(void)state;
	put_code(&fake);
	assert_int_equal(python_layout_init(&layout, PYTHON_VERSION(3, 12), false), 0);
	assert_int_equal(python_code_describe(&layout, &process), 0);
	python_code_cache_init(&cache, &layout, &process);
	/* A method that has the same name as the file. */
	put_string_of_3_12(&fake, NAME, "__init__");
	put_string_of_3_12(&fake, FILENAME, "__init__");
	put_string_of_3_12(&fake, QUALIFIED_NAME, "A.__init__");
	put(&fake, CODE + layout.code.name, NAME);
	put(&fake, CODE + layout.code.filename, NAME);
	put(&fake, CODE + layout.code.qualified_name, QUALIFIED_NAME);
	put(&fake, CODE + layout.code.line_table, TABLE);
	assert_int_equal(python_code_read_fingerprint(&cache, &fake.memory, CODE, &fingerprint), 0);
	assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), 0);
	assert_string_equal(frame.function, "A.__init__");
	put(&fake, CODE + layout.code.qualified_name, NAME);
	assert_int_equal(python_code_read_fingerprint(&cache, &fake.memory, CODE, &fingerprint), 0);
	assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), -ENOENT);
	/* With another string as the file name, it is code of the program. */
	put(&fake, CODE + layout.code.filename, FILENAME);
	put(&fake, CODE + layout.code.first_line, 5);
	assert_int_equal(python_code_read_fingerprint(&cache, &fake.memory, CODE, &fingerprint), 0);
	assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), 0);
	assert_string_equal(frame.function, "__init__");
	python_code_cache_deinit(&cache);
}

static void another_object_at_the_same_address_is_told(void **state)
{
	static struct python_code_cache cache;
	static struct fake_memory fake;
	struct interpreted_frame frame = { 0 };
	uint32_t fingerprint, other;

	(void)state;
	put_code(&fake);
	cache_of_3_9(&cache);
	assert_int_equal(python_code_read_fingerprint(&cache, &fake.memory, CODE, &fingerprint), 0);
	/* The same pointers, but another name. */
	put(&fake, NAME + 24, 5);
	assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), -ESTALE);
	assert_null(frame.function);
	assert_int_equal(python_code_read_fingerprint(&cache, &fake.memory, CODE, &other), 0);
	assert_int_not_equal(other, fingerprint);
	assert_int_equal(symbolize(&cache, &fake, other, 0, &frame), 0);
	/* The memory was freed, or the kernel side could not read the object. */
	put(&fake, CODE + 112, UINT64_MAX - 4);
	assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), -ESTALE);
	assert_int_equal(symbolize(&cache, &fake, 0, 0, &frame), -ESTALE);
	python_code_cache_deinit(&cache);
}

static void forks_that_differ_are_told_apart(void **state)
{
	static struct python_code_cache cache;
	static struct fake_memory fakes[2];
	struct interpreted_frame frame;
	uint32_t fingerprint;

	(void)state;
	cache_of_3_9(&cache);
	for (int i = 0; i < 2; i++) {
		put_code(&fakes[i]);
		put_string(&fakes[i], FILENAME, i ? "b.py" : "a.py", 4, 1, true);
	}
	assert_int_equal(python_code_read_fingerprint(&cache, &fakes[0].memory, CODE, &fingerprint),
			 0);
	/* Both forks are named, and then again from the cache, without their memory. */
	for (int i = 0; i < 4; i++) {
		fakes[i & 1].reads = 0;
		assert_int_equal(symbolize(&cache, &fakes[i & 1], fingerprint, 0, &frame), 0);
		assert_string_equal(frame.file, i & 1 ? "b.py" : "a.py");
		assert_true((i < 2) == (fakes[i & 1].reads > 0));
	}
	assert_int_not_equal(fakes[0].object, fakes[1].object);
	/* An object that is not cached any more cannot be read from the other fork's memory. */
	python_code_cache_deinit(&cache);
	cache_of_3_9(&cache);
	fakes[0].object = fakes[1].object;
	assert_int_equal(symbolize(&cache, &fakes[0], fingerprint, 0, &frame), -ESTALE);
	python_code_cache_deinit(&cache);
}

static void an_object_that_changes_while_it_is_read_has_no_name(void **state)
{
	static struct python_code_cache cache;
	static struct fake_memory fake;
	struct interpreted_frame frame;
	uint32_t fingerprint;
	int reads;

	(void)state;
	put_code(&fake);
	cache_of_3_9(&cache);
	assert_int_equal(python_code_read_fingerprint(&cache, &fake.memory, CODE, &fingerprint), 0);
	fake.reads = 0;
	assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), 0);
	reads = fake.reads;
	assert_true(reads > 4);
	python_code_cache_deinit(&cache);
	/* The last read but one reads the code object for the second time; the last one reads its name. */
	for (int i = 1; i < reads; i++) {
		put_code(&fake);
		cache_of_3_9(&cache);
		fake.changes_at = i;
		assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), -ESTALE);
		python_code_cache_deinit(&cache);
	}
}

/* Names an object whose line table is for 6 bytes of instructions and that has @instruction_bytes of them. */
static int symbolize_with_references(const struct python_layout *layout, uint64_t first,
				     uint64_t second, uint64_t instruction_bytes)
{
	static struct python_code_cache cache;
	static struct fake_memory fake;
	struct python_process process = { 0 };
	struct interpreted_frame frame;
	uint32_t fingerprint;
	int err;

	put_code(&fake);
	put(&fake, INSTRUCTIONS + 16, instruction_bytes);
	memcpy(fake.bytes + CODE + layout->references, &first, sizeof(first));
	if (layout->is_free_threaded)
		memcpy(fake.bytes + CODE + layout->references + 4, &second, sizeof(second));
	assert_int_equal(python_code_describe(layout, &process), 0);
	python_code_cache_init(&cache, layout, &process);
	assert_int_equal(python_code_read_fingerprint(&cache, &fake.memory, CODE, &fingerprint), 0);
	err = symbolize(&cache, &fake, fingerprint, 0, &frame);
	python_code_cache_deinit(&cache);
	return err;
}

static void the_line_table_of_an_object_that_was_freed_has_to_fit(void **state)
{
	static const struct {
		uint16_t version;
		uint64_t count;
	} alive[] = {
		{ PYTHON_VERSION(3, 9), 1 },
		{ PYTHON_VERSION(3, 9), 1 << 22 },
		{ PYTHON_VERSION(3, 11), 999999999 },
		{ PYTHON_VERSION(3, 12), 0xffffffff },
		{ PYTHON_VERSION(3, 14), 0xc0000000 },
		{ PYTHON_VERSION(3, 14), 0x4000000000000001 },
	};
	/* Counts of freed objects: 0, and links of lists of free blocks. */
	static const uint64_t freed[] = { 0,	      0x7f0123456780, 0x555500000010, 0x1a3c0b0,
					  0x5a3c0b10, 0x7f0123456,    0x9a3c0b10,     0xffffffff };
	struct python_layout layout;

	(void)state;
	assert_int_equal(python_layout_init(&layout, PYTHON_VERSION(3, 9), false), 0);
	for (size_t i = 0; i < sizeof(freed) / sizeof(freed[0]); i++) {
		assert_int_equal(symbolize_with_references(&layout, freed[i], 0, 6), -ESTALE);
		assert_int_equal(symbolize_with_references(&layout, freed[i], 0, 8), 0);
	}
	for (size_t i = 0; i < sizeof(alive) / sizeof(alive[0]); i++) {
		struct python_layout other = layout;

		/* The table does not match the instructions, whose length is elsewhere from 3.11 on. */
		other.version = alive[i].version;
		assert_int_equal(symbolize_with_references(&other, alive[i].count, 0, 6), 0);
	}
	/* Two counts at other offsets: the owner's, and the other threads' above two flags. */
	layout.is_free_threaded = true;
	layout.references = 12;
	assert_int_equal(symbolize_with_references(&layout, 1, 0, 6), 0);
	assert_int_equal(symbolize_with_references(&layout, 0, 1 << 2 | 3, 6), 0);
	/* Deferred references, with a few more and a few less. */
	assert_int_equal(symbolize_with_references(&layout, 0, ((INT64_MAX / 8) + 2) << 2, 6), 0);
	assert_int_equal(symbolize_with_references(&layout, 0, ((INT64_MAX / 8) - 2) << 2 | 3, 6),
			 0);
	assert_int_equal(symbolize_with_references(&layout, 0, INT64_MAX / 16, 6), -ESTALE);
	assert_int_equal(symbolize_with_references(&layout, 0, 3, 6), -ESTALE);
	assert_int_equal(symbolize_with_references(&layout, 0, (uint64_t)-4, 6), -ESTALE);
}

static void a_file_name_of_an_object_that_was_freed_may_be_another_string(void **state)
{
	/* Counts of freed objects: 0, and a link of a list of free blocks. */
	static const uint64_t freed[] = { 0, 0x7f0123456780 };
	static struct python_code_cache cache;
	static struct fake_memory fake;
	struct interpreted_frame frame;
	uint32_t fingerprint;

	(void)state;
	for (size_t i = 0; i < sizeof(freed) / sizeof(freed[0]); i++) {
		/* The object is alive, or was freed with its file name: the name is right. */
		for (int is_alive = 0; is_alive < 2; is_alive++) {
			put_code(&fake);
			cache_of_3_9(&cache);
			put(&fake, CODE, is_alive ? 1 : freed[i]);
			put(&fake, NAME, 2);
			put(&fake, FILENAME, is_alive ? 1 : freed[i]);
			assert_int_equal(python_code_read_fingerprint(&cache, &fake.memory, CODE,
								      &fingerprint),
					 0);
			assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), 0);
			assert_string_equal(frame.file, "a\xc3\xa9");
			assert_int_equal(frame.line, 11);
			python_code_cache_deinit(&cache);
		}
		/* Its fields and its line table are intact, but its file name's memory has another string. */
		put_code(&fake);
		cache_of_3_9(&cache);
		assert_int_equal(
			python_code_read_fingerprint(&cache, &fake.memory, CODE, &fingerprint), 0);
		put(&fake, CODE, freed[i]);
		put_string(&fake, FILENAME, "other", 5, 1, true);
		put(&fake, FILENAME, 1);
		assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), -ESTALE);
		python_code_cache_deinit(&cache);
	}
}

static void an_object_may_be_freed_while_it_is_read(void **state)
{
	static struct python_code_cache cache;
	static struct fake_memory fake;
	struct interpreted_frame frame;
	uint32_t fingerprint;
	int reads;

	(void)state;
	put_code(&fake);
	cache_of_3_9(&cache);
	assert_int_equal(python_code_read_fingerprint(&cache, &fake.memory, CODE, &fingerprint), 0);
	fake.reads = 0;
	assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), 0);
	reads = fake.reads;
	python_code_cache_deinit(&cache);
	for (int i = 1; i <= reads; i++) {
		put_code(&fake);
		cache_of_3_9(&cache);
		fake.frees_at = i;
		/* Either the file name was read before the change, or there is no result. */
		if (symbolize(&cache, &fake, fingerprint, 0, &frame))
			assert_true(fake.reads >= i);
		else
			assert_string_equal(frame.file, "a\xc3\xa9");
		python_code_cache_deinit(&cache);
	}
}

static void qualified_names_of_objects_that_were_freed_may_be_other_strings(void **state)
{
	static const struct {
		uint16_t version;
		bool is_free_threaded;
		/* Counts of the qualified name. */
		uint64_t first, second;
		int expected;
	} cases[] = {
		{ PYTHON_VERSION(3, 11), false, 1, 0, -ESTALE },
		{ PYTHON_VERSION(3, 11), false, 999999999, 0, 0 },
		{ PYTHON_VERSION(3, 11), false, 0, 0, 0 },
		{ PYTHON_VERSION(3, 12), false, 1, 0, -ESTALE },
		{ PYTHON_VERSION(3, 12), false, 0xffffffff, 0, 0 },
		{ PYTHON_VERSION(3, 12), false, 0x7f0123456780, 0, 0 },
		{ PYTHON_VERSION(3, 12), true, 1, 0, -ESTALE },
		{ PYTHON_VERSION(3, 12), true, 0, 1 << 2 | 3, -ESTALE },
		{ PYTHON_VERSION(3, 12), true, 0xffffffff, 0, 0 },
		{ PYTHON_VERSION(3, 12), true, 0, 3, 0 },
	};
	static struct python_code_cache cache;
	static struct fake_memory fake;
	struct interpreted_frame frame;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct python_process process = { 0 };
		struct python_layout layout;
		uint32_t fingerprint;

		put_code(&fake);
		assert_int_equal(python_layout_init(&layout, cases[i].version, false), 0);
		layout.is_free_threaded = cases[i].is_free_threaded;
		layout.references = layout.is_free_threaded ? 4 : 0;
		assert_int_equal(python_code_describe(&layout, &process), 0);
		python_code_cache_init(&cache, &layout, &process);
		if (cases[i].version == PYTHON_VERSION(3, 11)) {
			put_string(&fake, QUALIFIED_NAME, "A.name", 6, 1, true);
			put_string(&fake, FILENAME, "a.py", 4, 1, true);
		} else {
			put_string_of_3_12(&fake, QUALIFIED_NAME, "A.name");
			put_string_of_3_12(&fake, FILENAME, "a.py");
		}
		put(&fake, CODE, 0);
		/* 8 bytes of instructions, which the line table matches. */
		put(&fake, CODE + layout.bytes.size, 4);
		put(&fake, CODE + layout.code.name, NAME);
		put(&fake, CODE + layout.code.filename, FILENAME);
		put(&fake, CODE + layout.code.qualified_name, QUALIFIED_NAME);
		put(&fake, CODE + layout.code.line_table, TABLE);
		memcpy(fake.bytes + TABLE + 32, "\xf0\xf0\xf0\xf0", 4);
		memcpy(fake.bytes + QUALIFIED_NAME + layout.references, &cases[i].first,
		       layout.is_free_threaded ? 4 : 8);
		if (layout.is_free_threaded)
			memcpy(fake.bytes + QUALIFIED_NAME + layout.references + 4,
			       &cases[i].second, 8);
		assert_int_equal(
			python_code_read_fingerprint(&cache, &fake.memory, CODE, &fingerprint), 0);
		fake.object = 0;
		fake.fingerprint = 0;
		assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame),
				 cases[i].expected);
		/* The names of an object that is alive are right, whatever their counts are. */
		put(&fake, CODE + layout.references, 1);
		fake.object = 0;
		assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), 0);
		assert_string_equal(frame.function, "A.name");
		python_code_cache_deinit(&cache);
	}
}

/* The table of a live object is used; a freed object gets no line, now or later. */
static void the_line_table_of_an_object_that_was_freed_may_seem_large(void **state)
{
	static const uint64_t sizes[] = { PYTHON_LINE_TABLE_CACHED_BYTES + 1,
					  PYTHON_LINE_TABLE_MAX_BYTES + 1, UINT64_MAX };
	static struct python_code_cache cache;
	static struct fake_memory fake;
	struct interpreted_frame frame;
	uint32_t fingerprint;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		put_code(&fake);
		cache_of_3_9(&cache);
		put(&fake, TABLE + 16, sizes[i]);
		put(&fake, CODE, 0);
		assert_int_equal(
			python_code_read_fingerprint(&cache, &fake.memory, CODE, &fingerprint), 0);
		assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), -ESTALE);
		if (i) {
			put(&fake, CODE, 3);
			assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), 0);
			assert_int_equal(frame.line, 0);
			put(&fake, CODE, 0);
			assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), -ESTALE);
		}
		python_code_cache_deinit(&cache);
	}
}

static void hostile_strings_and_tables_are_refused(void **state)
{
	static struct python_code_cache cache;
	static struct fake_memory fake;
	struct interpreted_frame frame;
	uint32_t fingerprint;

	(void)state;
	put_code(&fake);
	cache_of_3_9(&cache);
	assert_int_equal(python_code_read_fingerprint(&cache, &fake.memory, CODE, &fingerprint), 0);
	put(&fake, NAME + 32, 3 << 2 | 1 << 5);
	assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), -EBADMSG);
	put(&fake, NAME + 32, 1 << 2 | 1 << 5 | 1 << 6);
	put(&fake, NAME + 16, UINT64_MAX);
	assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), -EBADMSG);
	put(&fake, NAME + 16, 1 << 20);
	/* The name is cut, and only its first 4096 characters are read. */
	assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), 0);
	assert_true(strlen(frame.function) == FRAME_NAME_MAX_BYTES || strlen(frame.function) > 4);
	python_code_cache_deinit(&cache);
	cache_of_3_9(&cache);
	put(&fake, TABLE + 16, UINT64_MAX);
	fake.object = 0;
	assert_int_equal(symbolize(&cache, &fake, fingerprint, 0, &frame), 0);
	assert_int_equal(frame.line, 0);
	python_code_cache_deinit(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_code_object_is_named),
		cmocka_unit_test(the_frame_between_a_class_and_its_init_is_no_function),
		cmocka_unit_test(another_object_at_the_same_address_is_told),
		cmocka_unit_test(forks_that_differ_are_told_apart),
		cmocka_unit_test(an_object_that_changes_while_it_is_read_has_no_name),
		cmocka_unit_test(the_line_table_of_an_object_that_was_freed_has_to_fit),
		cmocka_unit_test(a_file_name_of_an_object_that_was_freed_may_be_another_string),
		cmocka_unit_test(an_object_may_be_freed_while_it_is_read),
		cmocka_unit_test(qualified_names_of_objects_that_were_freed_may_be_other_strings),
		cmocka_unit_test(the_line_table_of_an_object_that_was_freed_may_seem_large),
		cmocka_unit_test(hostile_strings_and_tables_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
