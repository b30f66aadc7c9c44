/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of 8.4 that are made here: their names, before and after they are freed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "ebpf/abi/frame.h"
#include "interpreters/php/php_names.h"

enum {
	FUNCTION = 0x1000,
	INTERNAL = 0x1200,
	NAME = 0x1400,
	FILE_NAME = 0x1500,
	CLASS = 0x1600,
	CLASS_NAME = 0x1700,
	INTERNAL_NAME = 0x1800,
	OPCODES = 0x1900,
	LONG_NAME = 0x2000,
	CLOSURE = 0x4000,
	CLOSURE_NAME = 0x4200,
	CLOSURE_LIST = 0x4300,
	END = 0x8000,
	LINE = 12,
};

struct fake {
	struct remote_memory memory;
	uint8_t bytes[END];
	/** Number of the read at which the name changes; 0: never. */
	int changes_at;
	int reads;
	struct php_names names;
	uint32_t object;
};

static void put(struct fake *fake, uint64_t address, uint64_t word)
{
	memcpy(fake->bytes + address, &word, sizeof(word));
}

static uint64_t get(const struct fake *fake, uint64_t address)
{
	uint64_t word;

	memcpy(&word, fake->bytes + address, sizeof(word));
	return word;
}

static void put_bytes(struct fake *fake, uint64_t address, const char *bytes, size_t size)
{
	put(fake, address + 16, size);
	memcpy(fake->bytes + address + 24, bytes, size);
}

static void put_string(struct fake *fake, uint64_t address, const char *text)
{
	put_bytes(fake, address, text, strlen(text));
}

static int read_fake(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct fake *fake = (struct fake *)memory;

	if (++fake->reads == fake->changes_at)
		put_string(fake, NAME, "other");
	if (address >= END || bytes > END - address)
		return -EFAULT;
	memcpy(buffer, fake->bytes + address, bytes);
	return 0;
}

static void put_functions(struct fake *fake)
{
	put(fake, FUNCTION, 2);
	put(fake, FUNCTION + 8, NAME);
	put(fake, FUNCTION + 16, CLASS);
	put(fake, FUNCTION + 96, 20);
	put(fake, FUNCTION + 104, OPCODES);
	put(fake, FUNCTION + 168, FILE_NAME);
	put(fake, FUNCTION + 176, 14ULL << 32 | 10);
	put(fake, CLASS + 8, CLASS_NAME);
	put_string(fake, NAME, "method");
	put_string(fake, FILE_NAME, "/srv/shop/lib/cart.php");
	put_string(fake, CLASS_NAME, "Shop\\Cart");
	put(fake, INTERNAL, 1);
	put(fake, INTERNAL + 8, INTERNAL_NAME);
	put_string(fake, INTERNAL_NAME, "array_map");
}

static int set_up(void **state)
{
	static const struct remote_memory_ops ops = { .read = read_fake };
	static struct fake fake;
	struct php_process process = { 0 };

	memset(&fake, 0, sizeof(fake));
	fake.memory.ops = &ops;
	put_functions(&fake);
	php_names_describe(php_layout_of(PHP_ENGINE_VERSION(4, 4)), &process);
	php_names_init(&fake.names, php_layout_of(PHP_ENGINE_VERSION(4, 4)), &process);
	*state = &fake;
	return 0;
}

static int tear_down(void **state)
{
	php_names_deinit(&((struct fake *)*state)->names);
	return 0;
}

/* Mixes a text as the kernel side does. */
static uint64_t mix_text(const struct fake *fake, uint64_t sum, uint64_t string)
{
	uint64_t length = string ? get(fake, string + 16) : 0;
	uint64_t words[2][4] = { 0 };

	if (!string)
		return sum;
	memcpy(words[0], fake->bytes + string + 24, length < 32 ? length : 32);
	if (length > 32)
		memcpy(words[1], fake->bytes + string + 24 + length - 32, 32);
	sum = fingerprint_mix(sum, length);
	for (int i = 0; i < (length > 32 ? 8 : 4); i++)
		sum = fingerprint_mix(sum, words[i / 4][i % 4]);
	return sum;
}

static uint32_t fingerprint(const struct fake *fake, uint64_t function)
{
	static const uint16_t fields[] = { 96, 104, 168, 176 };
	bool is_internal = fake->bytes[function] == 1;
	uint64_t class = get(fake, function + 16), sum = 0;

	sum = fingerprint_mix(sum, fake->bytes[function]);
	sum = fingerprint_mix(sum, get(fake, function + 8));
	sum = fingerprint_mix(sum, class);
	for (size_t i = 0; !is_internal && i < 4; i++)
		sum = fingerprint_mix(sum, get(fake, function + fields[i]));
	if (!is_internal)
		sum = mix_text(fake, sum, get(fake, function + 168));
	sum = mix_text(fake, sum, get(fake, function + 8));
	return fingerprint_end(class ? mix_text(fake, sum, get(fake, class + 8)) : sum);
}

static int symbolize(struct fake *fake, uint64_t address, uint32_t position, uint32_t print,
		     struct interpreted_frame *frame)
{
	const uint64_t words[2] = { frame_word(FRAME_PHP, 0, address),
				    (uint64_t)position << 32 | print };

	return php_names_symbolize(&fake->names, &fake->memory, words, &fake->object, frame);
}

static void a_method_has_its_class_and_the_line_of_the_frame(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;

	assert_int_equal(symbolize(fake, FUNCTION, LINE, fingerprint(fake, FUNCTION), &frame), 0);
	assert_string_equal(frame.function, "Shop\\Cart::method");
	assert_string_equal(frame.file, "/srv/shop/lib/cart.php");
	assert_int_equal(frame.line, LINE);
	assert_int_equal(frame.start_line, 10);
	assert_false(frame.is_approximate);
	assert_int_equal(symbolize(fake, FUNCTION, LINE | PHP_IS_APPROXIMATE,
				   fingerprint(fake, FUNCTION), &frame),
			 0);
	assert_int_equal(frame.line, LINE);
	assert_true(frame.is_approximate);
}

static void a_function_in_c_has_no_line(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;

	assert_int_equal(
		symbolize(fake, INTERNAL, PHP_IS_INTERNAL, fingerprint(fake, INTERNAL), &frame), 0);
	assert_string_equal(frame.function, "array_map");
	assert_string_equal(frame.file, "<internal>");
	assert_int_equal(frame.line, 0);
	assert_int_equal(frame.start_line, 0);
}

static void code_of_a_file_is_named_by_what_runs_it(void **state)
{
	static const char *const names[] = { "{main}",	     "eval",	"include",
					     "include_once", "require", "require_once" };
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;

	const uint32_t print = fingerprint_end(mix_text(fake, 0, FILE_NAME));

	for (uint32_t i = 0; i < PHP_INCLUDE_COUNT; i++) {
		assert_int_equal(symbolize(fake, FILE_NAME,
					   PHP_IS_FILE | i << PHP_INCLUDE_SHIFT | LINE, print,
					   &frame),
				 0);
		assert_string_equal(frame.function, names[i]);
		assert_string_equal(frame.file, "/srv/shop/lib/cart.php");
		assert_int_equal(frame.line, LINE);
	}
	assert_int_equal(symbolize(fake, FILE_NAME,
				   PHP_IS_FILE | PHP_INCLUDE_COUNT << PHP_INCLUDE_SHIFT, print,
				   &frame),
			 -ESTALE);
	fake->object = 0;
	put_string(fake, FILE_NAME, "/srv/shop/lib/shop.php");
	/* The text was cached before it changed. */
	assert_int_equal(symbolize(fake, FILE_NAME, PHP_IS_FILE | LINE, print, &frame), 0);
	assert_string_equal(frame.file, "/srv/shop/lib/cart.php");
	assert_int_equal(symbolize(fake, FILE_NAME, PHP_IS_FILE | LINE, print + 1, &frame),
			 -ESTALE);
}

/* The name of a closure is cached for closures of the same declaration that are freed. */
static void a_closure_that_is_gone_has_the_name_of_another(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;
	uint32_t print = fingerprint(fake, FUNCTION);

	put(fake, FUNCTION, 1ULL << 54 | 2);
	assert_int_equal(symbolize(fake, FUNCTION, LINE, print, &frame), 0);
	fake->object = 0;
	assert_int_equal(symbolize(fake, FUNCTION + 0x100, LINE + 1, print, &frame), 0);
	assert_string_equal(frame.function, "Shop\\Cart::method");
	assert_int_equal(frame.line, LINE + 1);
	assert_int_equal(symbolize(fake, FUNCTION + 0x100, LINE, print + 1, &frame), -ESTALE);
	/* A function that is no closure is never freed while it runs. */
	put(fake, FUNCTION, 2);
	put(fake, FUNCTION + 104, OPCODES + 32);
	print = fingerprint(fake, FUNCTION);
	assert_int_equal(symbolize(fake, FUNCTION, LINE, print, &frame), 0);
	fake->object = 0;
	assert_int_equal(symbolize(fake, FUNCTION + 0x100, LINE, print, &frame), -ESTALE);
}

/* The function that declares the closure was named. */
static void a_closure_that_was_never_there_has_a_name(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;
	uint32_t print;

	/* The function declares a closure, which has no class yet and declares another one. */
	memcpy(fake->bytes + CLOSURE, fake->bytes + FUNCTION, 256);
	put(fake, CLOSURE + 8, CLOSURE_NAME);
	put_string(fake, CLOSURE_NAME, "{closure}");
	put(fake, CLOSURE + 104, OPCODES + 32);
	memcpy(fake->bytes + CLOSURE + 0x100, fake->bytes + CLOSURE, 256);
	put(fake, CLOSURE + 0x100 + 104, OPCODES + 64);
	put(fake, FUNCTION + 184, 1ULL << 32);
	put(fake, FUNCTION + 200, CLOSURE_LIST);
	put(fake, CLOSURE_LIST, CLOSURE);
	put(fake, CLOSURE + 184, 1ULL << 32);
	put(fake, CLOSURE + 200, CLOSURE_LIST + 8);
	put(fake, CLOSURE_LIST + 8, CLOSURE + 0x100);
	print = fingerprint(fake, CLOSURE);
	put(fake, CLOSURE + 16, 0);
	assert_int_equal(symbolize(fake, 0x3000, LINE, print, &frame), -ESTALE);
	assert_int_equal(symbolize(fake, FUNCTION, LINE, fingerprint(fake, FUNCTION), &frame), 0);
	fake->object = 0;
	assert_int_equal(symbolize(fake, 0x3000, LINE, print, &frame), 0);
	assert_string_equal(frame.function, "Shop\\Cart::{closure}");
	print = fingerprint(fake, CLOSURE + 0x100);
	assert_int_equal(symbolize(fake, 0x3000, LINE, print, &frame), 0);
	assert_string_equal(frame.function, "Shop\\Cart::{closure}");
}

static void a_function_in_c_without_a_name_is_left_out(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;

	put(fake, INTERNAL + 8, 0);
	assert_int_equal(symbolize(fake, INTERNAL, PHP_IS_INTERNAL, fingerprint(fake, INTERNAL),
				   &frame),
			 -ENOENT);
}

static void the_location_of_an_anonymous_class_is_no_part_of_its_name(void **state)
{
	static const char name[] = "Base@anonymous\0/srv/shop.php:12$0";
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;

	put_bytes(fake, CLASS_NAME, name, sizeof(name) - 1);
	assert_int_equal(symbolize(fake, FUNCTION, LINE, fingerprint(fake, FUNCTION), &frame), 0);
	assert_string_equal(frame.function, "Base@anonymous::method");
}

/* Texts that differ in one byte, which may be anywhere except in the middle of long texts. */
static void another_text_is_another_function(void **state)
{
	static const uint16_t texts[] = { NAME, FILE_NAME, CLASS_NAME };
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;

	for (size_t i = 0; i < 3; i++) {
		uint64_t length = get(fake, texts[i] + 16U);

		for (uint64_t at = 0; at < length; at++) {
			uint32_t print = fingerprint(fake, FUNCTION);

			fake->bytes[texts[i] + 24 + at] ^= 1;
			assert_int_equal(symbolize(fake, FUNCTION, LINE, print, &frame), -ESTALE);
			fake->bytes[texts[i] + 24 + at] ^= 1;
		}
	}
}

static void a_name_that_changes_while_it_is_read_is_not_shown(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;
	uint32_t print = fingerprint(fake, FUNCTION);

	for (int read = 1; read < 20; read++) {
		int err;

		put_functions(fake);
		php_names_deinit(&fake->names);
		php_names_init(&fake->names, fake->names.layout, &fake->names.process);
		fake->object = 0;
		fake->reads = 0;
		fake->changes_at = read;
		err = symbolize(fake, FUNCTION, LINE, print, &frame);
		assert_true(err == -ESTALE ||
			    (!err && !strcmp(frame.function, "Shop\\Cart::method")));
	}
}

static void a_function_that_is_gone_is_stale(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;
	uint32_t print = fingerprint(fake, FUNCTION);

	assert_int_equal(symbolize(fake, FUNCTION, LINE, 0, &frame), -ESTALE);
	assert_int_equal(symbolize(fake, END + 16, LINE, print, &frame), -ESTALE);
	put(fake, FUNCTION + 104, OPCODES + 32);
	assert_int_equal(symbolize(fake, FUNCTION, LINE, print, &frame), -ESTALE);
	put(fake, FUNCTION + 104, OPCODES);
	put(fake, FUNCTION + 8, UINT64_MAX - 100);
	assert_int_equal(symbolize(fake, FUNCTION, LINE, print, &frame), -ESTALE);
}

static void what_is_known_needs_no_memory(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;
	uint32_t print = fingerprint(fake, FUNCTION);

	assert_int_equal(symbolize(fake, FUNCTION, LINE, print, &frame), 0);
	assert_int_not_equal(fake->object, 0);
	fake->reads = 0;
	assert_int_equal(symbolize(fake, FUNCTION, LINE + 1, print, &frame), 0);
	assert_int_equal(frame.line, LINE + 1);
	assert_int_equal(fake->reads, 0);
}

static void long_names_are_cut(void **state)
{
	struct interpreted_frame frame = { 0 };
	struct fake *fake = *state;

	put(fake, FUNCTION + 8, LONG_NAME);
	put(fake, LONG_NAME + 16, 6000);
	memset(fake->bytes + LONG_NAME + 24, 'a', 6000);
	assert_int_equal(symbolize(fake, FUNCTION, LINE, fingerprint(fake, FUNCTION), &frame), 0);
	assert_int_equal(strlen(frame.function), FRAME_NAME_MAX_BYTES);
	put(fake, LONG_NAME + 16, UINT64_MAX);
	assert_int_equal(symbolize(fake, FUNCTION, LINE, 1, &frame), -ESTALE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_method_has_its_class_and_the_line_of_the_frame),
		TEST(a_function_in_c_has_no_line),
		TEST(code_of_a_file_is_named_by_what_runs_it),
		TEST(a_closure_that_is_gone_has_the_name_of_another),
		TEST(a_closure_that_was_never_there_has_a_name),
		TEST(a_function_in_c_without_a_name_is_left_out),
		TEST(the_location_of_an_anonymous_class_is_no_part_of_its_name),
		TEST(another_text_is_another_function),
		TEST(a_name_that_changes_while_it_is_read_is_not_shown),
		TEST(a_function_that_is_gone_is_stale),
		TEST(what_is_known_needs_no_memory),
		TEST(long_names_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
