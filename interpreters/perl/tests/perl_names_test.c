/* SPDX-License-Identifier: Apache-2.0 */
/* Subs and files that are made here, as 5.32 and 5.40 keep them: their names, before and after they are freed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "ebpf/abi/frame.h"
#include "interpreters/perl/perl_names.h"

enum {
	SUB = 0x1000,
	BODY = 0x1100,
	GLOB = 0x1200,
	GLOB_BODY = 0x1300,
	NAME = 0x1400,
	STASH = 0x1500,
	STASH_BODY = 0x1600,
	PACKAGE = 0x1800,
	BUCKETS = 0x1900,
	FILE_NAME = 0x2000,
	FILE_NAME_BYTES = 2 * PERL_FILE_BYTES,
	NAME_LIST = 0x2800,
	VALUES = 0x2900,
	START = 0x2a00,
	OTHER_FILE = 0x2b00,
	FILE_GLOB = 0x2c00,
	END = 0x3000,
	HAS_AUX = 0x2000000,
	LINE = 12,
};

struct fake {
	struct remote_memory memory;
	uint8_t bytes[END];
	/** Number of the read at which the name changes; 0: never. */
	int changes_at;
	int reads;
	struct perl_names names;
	uint32_t object;
	uint32_t code;
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

static void put_name(struct fake *fake, uint64_t address, const char *text, uint8_t flags)
{
	uint32_t length = (uint32_t)strlen(text), hash = length * 77;

	memcpy(fake->bytes + address, &hash, sizeof(hash));
	memcpy(fake->bytes + address + 4, &length, sizeof(length));
	strcpy((char *)fake->bytes + address + 8, text);
	fake->bytes[address + 8 + length + 1] = flags;
}

static void put_file(struct fake *fake, const char *text)
{
	memset(fake->bytes + FILE_NAME, 0xdd, FILE_NAME_BYTES);
	strcpy((char *)fake->bytes + FILE_NAME, text);
}

static int read_fake(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct fake *fake = (struct fake *)memory;

	if (++fake->reads == fake->changes_at)
		put_name(fake, NAME, "other", 0);
	if (address >= END || bytes > END - address)
		return -EFAULT;
	memcpy(buffer, fake->bytes + address, bytes);
	return 0;
}

static void set_up_version(struct fake *fake, unsigned int minor)
{
	static const struct remote_memory_ops ops = { .read = read_fake };
	uint64_t aux = minor == 32 ? BUCKETS + 8 * 8 : STASH_BODY + 32;

	memset(fake, 0, sizeof(*fake));
	fake->memory.ops = &ops;
	fake->code = PERL_CODE_SUB;
	put(fake, SUB, BODY);
	put(fake, BODY + PERL_CV_GLOB, GLOB);
	put(fake, GLOB, GLOB_BODY);
	put(fake, GLOB_BODY + PERL_GLOB_NAME, NAME);
	put(fake, GLOB_BODY + PERL_GLOB_STASH, STASH);
	put(fake, STASH, STASH_BODY);
	put(fake, STASH + 8, (uint64_t)HAS_AUX << 32);
	put(fake, STASH + 16, BUCKETS);
	put(fake, STASH_BODY + 24, 7);
	put(fake, aux, PACKAGE);
	put_name(fake, NAME, "total", 0);
	put_name(fake, PACKAGE, "Shop::Cart", 0);
	put_file(fake, "/srv/shop/lib/Shop/Cart.pm");
	perl_names_init(&fake->names, perl_layout_of(minor), false);
}

static int set_up(void **state)
{
	static struct fake fake;

	set_up_version(&fake, 40);
	*state = &fake;
	return 0;
}

static int tear_down(void **state)
{
	perl_names_deinit(&((struct fake *)*state)->names);
	return 0;
}

/* Makes the frame's words as the kernel side does. */
static void make_words(const struct fake *fake, uint64_t words[3])
{
	uint64_t sum = fingerprint_mix(0, fake->code), part = 0;
	bool is_named = get(fake, BODY + 88) >> 32 & PERL_CV_IS_NAMED;
	uint64_t stash = get(fake, is_named ? BODY + PERL_CV_STASH : GLOB_BODY + PERL_GLOB_STASH);
	int has_end = 0;

	for (size_t i = 0; i < PERL_FILE_WORDS && !has_end; i++)
		part = fingerprint_mix(part,
				       perl_text_word(get(fake, FILE_NAME + 8 * i), &has_end));
	sum = fingerprint_mix(sum, part | 1);
	part = fingerprint_mix(fingerprint_mix(0, stash), NAME);
	part = fingerprint_mix(fingerprint_mix(part, get(fake, NAME)), get(fake, NAME + 8)) | 1;
	words[0] = frame_word(FRAME_PERL, FRAME_HAS_OWNER, 0);
	words[2] = FILE_NAME;
	if (fake->code == PERL_CODE_SUB) {
		words[0] |= SUB;
		words[2] |= perl_mark(part) << PERL_MARK_SHIFT;
		sum = fingerprint_mix(sum, part);
	}
	words[1] = ((uint64_t)fake->code << PERL_CODE_SHIFT | LINE) << 32 | fingerprint_end(sum);
}

/* The same for a sub with a glob. */
static void make_glob_words(const struct fake *fake, uint64_t words[3])
{
	make_words(fake, words);
	words[0] = frame_word(FRAME_PERL, FRAME_HAS_OWNER, GLOB);
	words[1] |= (uint64_t)PERL_HAS_GLOB << 32;
}

static int symbolize(struct fake *fake, const uint64_t words[3], struct interpreted_frame *frame)
{
	memset(frame, 0, sizeof(*frame));
	fake->reads = 0;
	return perl_names_symbolize(&fake->names, &fake->memory, words, &fake->object, frame);
}

static void check_name(struct fake *fake, const char *function, const char *file)
{
	struct interpreted_frame frame;
	uint64_t words[3];

	make_words(fake, words);
	fake->object = 0;
	assert_int_equal(symbolize(fake, words, &frame), 0);
	assert_string_equal(frame.function, function);
	assert_string_equal(frame.file, file);
	assert_int_equal(frame.line, LINE);
}

static void a_sub_has_its_package_before_its_name(void **state)
{
	struct fake *fake = *state;

	check_name(fake, "Shop::Cart::total", "/srv/shop/lib/Shop/Cart.pm");
	perl_names_deinit(&fake->names);
	set_up_version(fake, 32);
	check_name(fake, "Shop::Cart::total", "/srv/shop/lib/Shop/Cart.pm");
}

static void names_are_latin_1_unless_they_are_flagged(void **state)
{
	struct fake *fake = *state;

	put_name(fake, NAME, "na\xefve", 0);
	check_name(fake, "Shop::Cart::na\xc3\xafve", "/srv/shop/lib/Shop/Cart.pm");
	put_name(fake, NAME, "na\xc3\xafve", 1);
	check_name(fake, "Shop::Cart::na\xc3\xafve", "/srv/shop/lib/Shop/Cart.pm");
}

static void a_package_may_have_several_names_or_none(void **state)
{
	struct fake *fake = *state;

	put(fake, STASH_BODY + 32, NAME_LIST);
	put(fake, NAME_LIST, PACKAGE);
	put(fake, STASH_BODY + 32 + 24, 2ULL << 32);
	check_name(fake, "Shop::Cart::total", "/srv/shop/lib/Shop/Cart.pm");
	put(fake, NAME_LIST, 0);
	check_name(fake, "__ANON__::total", "/srv/shop/lib/Shop/Cart.pm");
	put(fake, STASH + 8, 0);
	check_name(fake, "__ANON__::total", "/srv/shop/lib/Shop/Cart.pm");
}

static void a_sub_may_have_a_name_of_its_own(void **state)
{
	struct fake *fake = *state;

	put(fake, BODY + PERL_CV_STASH, STASH);
	put(fake, BODY + PERL_CV_GLOB, NAME);
	put(fake, BODY + 88, (uint64_t)PERL_CV_IS_NAMED << 32);
	check_name(fake, "Shop::Cart::total", "/srv/shop/lib/Shop/Cart.pm");
	/* A lexical sub is of no package. */
	put(fake, BODY + 88, (uint64_t)(PERL_CV_IS_NAMED | 0x10000) << 32);
	check_name(fake, "total", "/srv/shop/lib/Shop/Cart.pm");
}

static void other_code_has_the_name_of_its_kind(void **state)
{
	struct fake *fake = *state;

	fake->code = PERL_CODE_EVAL;
	check_name(fake, "(eval)", "/srv/shop/lib/Shop/Cart.pm");
	fake->code = PERL_CODE_FILE;
	check_name(fake, "(require)", "/srv/shop/lib/Shop/Cart.pm");
	fake->code = PERL_CODE_MAIN;
	check_name(fake, "(main)", "/srv/shop/lib/Shop/Cart.pm");
}

static void a_known_name_is_not_read_again(void **state)
{
	struct fake *fake = *state;
	struct interpreted_frame frame;
	uint64_t words[3];

	make_words(fake, words);
	assert_int_equal(symbolize(fake, words, &frame), 0);
	assert_int_not_equal(fake->object, 0);
	memset(fake->bytes, 0, sizeof(fake->bytes));
	assert_int_equal(symbolize(fake, words, &frame), 0);
	assert_int_equal(fake->reads, 0);
	assert_string_equal(frame.function, "Shop::Cart::total");
}

static void what_was_freed_has_the_names_of_its_fingerprint(void **state)
{
	struct fake *fake = *state;
	struct interpreted_frame frame;
	uint64_t words[3];

	make_words(fake, words);
	assert_int_equal(symbolize(fake, words, &frame), 0);
	fake->object = 0;
	put_name(fake, NAME, "other", 0);
	assert_int_equal(symbolize(fake, words, &frame), 0);
	assert_string_equal(frame.function, "Shop::Cart::total");
	assert_string_equal(frame.file, "/srv/shop/lib/Shop/Cart.pm");
	assert_int_equal(fake->object, 0);
}

static void a_sub_whose_file_was_freed_has_none(void **state)
{
	struct fake *fake = *state;
	struct interpreted_frame frame;
	uint64_t words[3];

	put_file(fake, "(eval 12)");
	make_words(fake, words);
	put_file(fake, "(eval 13)");
	assert_int_equal(symbolize(fake, words, &frame), 0);
	assert_string_equal(frame.function, "Shop::Cart::total");
	assert_null(frame.file);
	assert_int_equal(frame.line, 0);
	/* The sub is another one, too. */
	put_name(fake, NAME, "other", 0);
	assert_int_equal(symbolize(fake, words, &frame), -ESTALE);
	fake->code = PERL_CODE_EVAL;
	make_words(fake, words);
	put_file(fake, "(eval 14)");
	assert_int_equal(symbolize(fake, words, &frame), 0);
	assert_string_equal(frame.function, "(eval)");
	assert_null(frame.file);
}

static void a_closure_that_was_freed_has_the_name_of_its_glob(void **state)
{
	struct fake *fake = *state;
	struct interpreted_frame frame;
	uint64_t words[3];

	make_glob_words(fake, words);
	memset(fake->bytes + SUB, 0xdd, 16);
	memset(fake->bytes + BODY, 0xdd, 96);
	assert_int_equal(symbolize(fake, words, &frame), 0);
	assert_string_equal(frame.function, "Shop::Cart::total");
	assert_string_equal(frame.file, "/srv/shop/lib/Shop/Cart.pm");
	assert_int_equal(frame.line, LINE);
	/* The glob has another name, or is freed. */
	perl_names_deinit(&fake->names);
	set_up_version(fake, 40);
	put_name(fake, NAME, "other", 0);
	assert_int_equal(symbolize(fake, words, &frame), -ESTALE);
	put(fake, GLOB, UINT64_MAX);
	assert_int_equal(symbolize(fake, words, &frame), -ESTALE);
}

/* The allocator's pointers: some have bytes that no text has, others are text by chance. */
static void memory_that_was_freed_is_no_file_name(void **state)
{
	static const char *const freed[] = { "\x10\x3a\x9b\x5c\x55\x55", "pq:abU",
					     "\xf0\x3a/\x5c\x55U" };
	struct fake *fake = *state;
	struct interpreted_frame frame;
	uint64_t words[3];

	for (size_t i = 0; i < sizeof(freed) / sizeof(freed[0]); i++) {
		put_file(fake, freed[i]);
		fake->code = PERL_CODE_FILE;
		make_words(fake, words);
		assert_int_equal(symbolize(fake, words, &frame), 0);
		assert_string_equal(frame.function, "(require)");
		assert_null(frame.file);
		fake->code = PERL_CODE_SUB;
		make_words(fake, words);
		assert_int_equal(symbolize(fake, words, &frame), 0);
		assert_string_equal(frame.function, "Shop::Cart::total");
		assert_null(frame.file);
	}
	put_file(fake, "-e");
	check_name(fake, "Shop::Cart::total", "-e");
	put_file(fake, "/srv/\xc3\xa4.pl");
	check_name(fake, "Shop::Cart::total", "/srv/\xc3\xa4.pl");
}

static void a_long_file_name_is_not_known_by_its_fingerprint(void **state)
{
	struct fake *fake = *state;
	struct interpreted_frame frame;
	char file[PERL_FILE_BYTES + 2] = "";
	uint64_t words[3];

	memset(file, 'x', sizeof(file) - 1);
	file[0] = '/';
	put_file(fake, file);
	check_name(fake, "Shop::Cart::total", file);
	make_words(fake, words);
	fake->object = 0;
	put_name(fake, NAME, "other", 0);
	assert_int_equal(symbolize(fake, words, &frame), -ESTALE);
}

static void the_end_of_a_long_file_name_counts(void **state)
{
	struct fake *fake = *state;
	struct interpreted_frame frame;
	char file[PERL_FILE_BYTES] = "";
	uint64_t words[3];

	memset(file, 'x', 100);
	file[0] = '/';
	strcpy(file + 100, ".pm");
	put_file(fake, file);
	make_words(fake, words);
	strcpy(file + 100, ".pmc");
	put_file(fake, file);
	assert_int_equal(symbolize(fake, words, &frame), 0);
	assert_null(frame.file);
}

static void a_name_that_changes_while_it_is_read_is_not_used(void **state)
{
	struct fake *fake = *state;
	struct interpreted_frame frame;
	uint64_t words[3];

	make_words(fake, words);
	assert_int_equal(symbolize(fake, words, &frame), 0);
	for (int last = fake->reads, i = 1; i <= last; i++) {
		int err;

		perl_names_deinit(&fake->names);
		set_up_version(fake, 40);
		fake->changes_at = i;
		err = symbolize(fake, words, &frame);
		assert_true(err == -ESTALE || !strcmp(frame.function, "Shop::Cart::total"));
	}
}

/* The number of the op that begins a statement. */
static uint64_t nextstate(const struct fake *fake)
{
	return (uint64_t)fake->names.layout->enter - 3;
}

/* The sub's first op: a statement. */
static void put_start(struct fake *fake, uint64_t op, uint64_t line, uint64_t file)
{
	put(fake, BODY + PERL_CV_START, START);
	put(fake, START + 32, line << 32 | op);
	put(fake, START + 48, file);
}

/* The first line of the sub, by its own address or by that of its glob. */
static uint32_t start_line(struct fake *fake, bool has_glob)
{
	struct interpreted_frame frame;
	uint64_t words[3];

	perl_names_deinit(&fake->names);
	perl_names_init(&fake->names, fake->names.layout, fake->names.has_file_globs);
	if (has_glob)
		make_glob_words(fake, words);
	else
		make_words(fake, words);
	fake->object = 0;
	assert_int_equal(symbolize(fake, words, &frame), 0);
	assert_string_equal(frame.function, "Shop::Cart::total");
	assert_int_equal(frame.line, LINE);
	return frame.start_line;
}

static void a_sub_begins_with_its_first_statement(void **state)
{
	struct fake *fake = *state;
	struct interpreted_frame frame;
	uint64_t words[3];

	assert_int_equal(start_line(fake, false), 0);
	put_start(fake, nextstate(fake), 9, FILE_NAME);
	assert_int_equal(start_line(fake, false), 9);
	/* A known name has it, too. */
	make_words(fake, words);
	assert_int_equal(symbolize(fake, words, &frame), 0);
	assert_int_equal(frame.start_line, 9);
	put_start(fake, nextstate(fake) + 1, 9, FILE_NAME);
	assert_int_equal(start_line(fake, false), 0);
	/* It is behind the line of the frame. */
	put_start(fake, nextstate(fake), LINE + 1, FILE_NAME);
	assert_int_equal(start_line(fake, false), 0);
	/* A statement with a copy of the file's name, and one in another file. */
	put_start(fake, nextstate(fake), 9, OTHER_FILE);
	strcpy((char *)fake->bytes + OTHER_FILE, "/srv/shop/lib/Shop/Cart.pm");
	assert_int_equal(start_line(fake, false), 9);
	strcpy((char *)fake->bytes + OTHER_FILE, "/srv/shop/lib/Shop/Cart.pl");
	assert_int_equal(start_line(fake, false), 0);
}

static void a_glob_has_the_sub_that_is_its_own(void **state)
{
	struct fake *fake = *state;

	put_start(fake, nextstate(fake), 9, FILE_NAME);
	put(fake, GLOB + 16, VALUES);
	/* As for closures. */
	assert_int_equal(start_line(fake, true), 0);
	put(fake, VALUES + 16, SUB);
	assert_int_equal(start_line(fake, true), 9);
	/* It came from another glob. */
	put(fake, BODY + PERL_CV_GLOB, GLOB + 8);
	assert_int_equal(start_line(fake, true), 0);
	put(fake, BODY + PERL_CV_GLOB, GLOB);
	/* It is written in C. */
	put(fake, BODY + 88, 8ULL << 32);
	assert_int_equal(start_line(fake, true), 0);
}

static void the_file_of_a_statement_may_be_in_a_glob(void **state)
{
	struct fake *fake = *state;

	fake->names.has_file_globs = true;
	put_start(fake, nextstate(fake), 9, FILE_GLOB);
	put(fake, FILE_GLOB, FILE_GLOB + 0x40);
	put(fake, FILE_GLOB + 0x40 + PERL_GLOB_NAME, FILE_NAME - PERL_GLOB_FILE);
	assert_int_equal(start_line(fake, false), 9);
}

static void what_was_freed_has_no_first_line(void **state)
{
	struct fake *fake = *state;
	struct interpreted_frame frame;
	uint64_t words[3];

	put_start(fake, nextstate(fake), 9, FILE_NAME);
	assert_int_equal(start_line(fake, false), 9);
	make_words(fake, words);
	fake->object = 0;
	put_name(fake, NAME, "other", 0);
	assert_int_equal(symbolize(fake, words, &frame), 0);
	assert_string_equal(frame.function, "Shop::Cart::total");
	assert_int_equal(frame.start_line, 0);
}

static void hostile_memory_is_refused(void **state)
{
	struct fake *fake = *state;
	struct interpreted_frame frame;
	uint64_t words[3];

	make_words(fake, words);
	assert_int_equal(symbolize(fake,
				   (uint64_t[3]){ words[0], words[1] & ~0xffffffffULL, words[2] },
				   &frame),
			 -ESTALE);
	assert_int_equal(symbolize(fake, (uint64_t[3]){ words[0], words[1] | 7ULL << 56, words[2] },
				   &frame),
			 -ESTALE);
	/* The length of a name is negative. */
	put(fake, NAME, UINT64_MAX);
	make_words(fake, words);
	assert_int_equal(symbolize(fake, words, &frame), -EBADMSG);
	/* The buckets of a package have no end. */
	perl_names_deinit(&fake->names);
	set_up_version(fake, 32);
	put(fake, STASH_BODY + 24, UINT64_MAX);
	make_words(fake, words);
	assert_int_equal(symbolize(fake, words, &frame), -EBADMSG);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_sub_has_its_package_before_its_name),
		TEST(names_are_latin_1_unless_they_are_flagged),
		TEST(a_package_may_have_several_names_or_none),
		TEST(a_sub_may_have_a_name_of_its_own),
		TEST(other_code_has_the_name_of_its_kind),
		TEST(a_known_name_is_not_read_again),
		TEST(what_was_freed_has_the_names_of_its_fingerprint),
		TEST(a_sub_whose_file_was_freed_has_none),
		TEST(a_closure_that_was_freed_has_the_name_of_its_glob),
		TEST(memory_that_was_freed_is_no_file_name),
		TEST(a_long_file_name_is_not_known_by_its_fingerprint),
		TEST(the_end_of_a_long_file_name_counts),
		TEST(a_name_that_changes_while_it_is_read_is_not_used),
		TEST(a_sub_begins_with_its_first_statement),
		TEST(a_glob_has_the_sub_that_is_its_own),
		TEST(the_file_of_a_statement_may_be_in_a_glob),
		TEST(what_was_freed_has_no_first_line),
		TEST(hostile_memory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
