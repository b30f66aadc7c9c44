/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/autofdo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reporter/tests/fixture.h"

/* Two functions with inlined ones, one of C++, and one without its first line. */
static uint32_t resolve(struct symbol_lookup *lookup, struct binary *binary, uint64_t address,
			struct symbol *symbols, uint32_t capacity)
{
	const struct symbol outer = { .function = "outer", .line = 15, .start_line = 10 };
	const struct symbol inner = { .function = "a::inner(int)",
				      .linkage_name = "_ZN1a5innerEi",
				      .line = 103,
				      .start_line = 100,
				      .flags = SYMBOL_INLINED };

	(void)lookup;
	(void)binary;
	(void)capacity;
	symbols[0] = outer;
	switch (address) {
	case 0x1000:
		symbols[0].line = 12;
		return 1;
	case 0x2000:
		symbols[0] = inner;
		symbols[1] = outer;
		return 2;
	case 0x3000:
		symbols[0] = inner;
		symbols[0].flags = 0;
		return 1;
	case 0x4000:
		symbols[0].start_line = 0;
		return 1;
	case 0x5000:
		/* A line before the function's first one, as macros may have. */
		symbols[0].line = 9;
		return 1;
	}
	return 0;
}

static char *written_with(struct fixture *f, const struct profile_info *info)
{
	static const struct symbol_lookup_ops ops = { .resolve = resolve };
	struct symbol_lookup lookup = { .ops = &ops };
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(autofdo_write(out, fixture_snapshot(f), info, &lookup), 0);
	fclose(out);
	return text;
}

static char *written(struct fixture *f)
{
	return written_with(f, &(struct profile_info){ 0 });
}

/* LLVM's reader skips lines that begin so, as SampleProfReader.cpp has it. */
static void where_the_samples_come_from_is_a_comment(void **state)
{
	static const struct profile_info info = { .host = "box", .samples_per_second = 19 };
	struct fixture *f = *state;
	char *text;

	REPORT(f, "prog", 1, 2, native_frame(f->prog, 0x1000, 0));
	text = written_with(f, &info);
	assert_string_equal(text, "# host: box\n"
				  "# start: 1970-01-01T00:00:00Z\n"
				  "# duration: 0.000 s\n"
				  "# rate: 19 samples per second and CPU\n"
				  "# quality: 2 of 2 stacks are complete\n"
				  "outer:2:2\n 2: 2\n");
	free(text);
}

static void lines_are_counted_from_the_function_s_first(void **state)
{
	struct fixture *f = *state;
	char *text;

	REPORT(f, "prog", 1, 2, native_frame(f->prog, 0x1000, 0),
	       native_frame(f->prog, 0x2001, FRAME_RETURN_ADDRESS));
	REPORT(f, "prog", 1, 7, native_frame(f->prog, 0x2000, 0));
	REPORT(f, "prog", 2, 1, native_frame(f->prog, 0x3000, 0));
	REPORT(f, "prog", 2, 4, native_frame(f->prog, 0x5000, 0));
	text = written(f);
	assert_string_equal(text, "outer:13:2\n 2: 2\n 65535: 4\n 5: _ZN1a5innerEi:7\n  3: 7\n"
				  "_ZN1a5innerEi:1:1\n 3: 1\n");
	free(text);
}

static void code_without_lines_is_left_out(void **state)
{
	struct fixture *f = *state;
	char *text;

	REPORT(f, "prog", 1, 2, native_frame(f->prog, 0x4000, 0));
	REPORT(f, "prog", 1, 3, native_frame(f->prog, 0x6000, 0));
	REPORT(f, "prog", 1, 1, kernel_frame(f, 0x10, "read", "vmlinux"));
	REPORT(f, "py", 1, 5,
	       (struct frame){
		       .kind = FRAME_PYTHON, .function = "work", .line = 7, .start_line = 5 });
	text = written(f);
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(where_the_samples_come_from_is_a_comment),
		TEST(lines_are_counted_from_the_function_s_first),
		TEST(code_without_lines_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
