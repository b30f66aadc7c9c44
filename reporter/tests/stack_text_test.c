/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/stack_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reporter/tests/fixture.h"
#include "reporter/tests/whole_stack.h"

static void assert_stack(struct fixture *fixture, const char *comm, const struct frame *frames,
			 uint32_t frame_count, const char *expected)
{
	struct trace *trace = trace_create(frames, frame_count, false, false);
	struct text_builder text = { 0 };

	append_stack_text(&text, comm, trace, &fixture->lookup);
	assert_string_equal(text_builder_text(&text), expected);
	text_builder_deinit(&text);
	trace_unref(trace);
}

#define ASSERT_STACK(fixture, comm, expected, ...)                                                 \
	do {                                                                                       \
		const struct frame frames[] = { __VA_ARGS__ };                                     \
		assert_stack(fixture, comm, frames, sizeof(frames) / sizeof(frames[0]), expected); \
	} while (0)

static void stacks_read_root_first_behind_the_comm(void **state)
{
	struct fixture *f = *state;

	ASSERT_STACK(f, "prog", "prog;main;outer;middle_[i];tiny_[i];do_sys_[k]",
		     kernel_frame(f, 1, "do_sys", "vmlinux"), native_frame(f->prog, 0x3000, 0),
		     native_frame(f->prog, 0x1001, FRAME_RETURN_ADDRESS));
}

static void only_return_addresses_are_looked_up_one_before(void **state)
{
	struct fixture *f = *state;

	ASSERT_STACK(f, "p", "p;prog+0x1001;main", native_frame(f->prog, 0x1000, 0),
		     native_frame(f->prog, 0x1001, 0));
	ASSERT_STACK(f, "p", "p;prog+0xfff", native_frame(f->prog, 0x1000, FRAME_RETURN_ADDRESS));
}

static struct frame carrying_frame(struct fixture *fixture, const char *function, uint8_t flags)
{
	return (struct frame){
		.kind = FRAME_NATIVE,
		.flags = flags,
		.address = 0x1000,
		.binary = fixture->prog,
		.function = function,
	};
}

static void native_frames_that_carry_their_name_are_not_looked_up(void **state)
{
	struct fixture *f = *state;

	ASSERT_STACK(f, "p", "p;around;within_[i];main", native_frame(f->prog, 0x1000, 0),
		     carrying_frame(f, "within", FRAME_INLINED), carrying_frame(f, "around", 0));
	ASSERT_STACK(f, "p", "p;doubtful_[?]", carrying_frame(f, "doubtful", FRAME_GUESS));
}

static void parting_characters_in_names_are_replaced(void **state)
{
	struct fixture *f = *state;

	ASSERT_STACK(f, "a;b\nc", "a:b c;foo:bar baz", native_frame(f->prog, 0x2000, 0));
	ASSERT_STACK(f, "p", "p;lib:x.so+0x5000", native_frame(f->stripped, 0x5000, 0));
	ASSERT_STACK(f, "", "[unknown];main", native_frame(f->prog, 0x1000, 0));
}

static void frames_without_a_name_have_their_module_and_address(void **state)
{
	struct fixture *f = *state;

	ASSERT_STACK(f, "p", "p;[anonymous]+0x7f00_[j]", native_frame(NULL, 0x7f00, 0));
	ASSERT_STACK(f, "p", "p;made: at run time_[j]",
		     ((struct frame){ .kind = FRAME_NATIVE, .function = "made; at run time" }));
	ASSERT_STACK(f, "p", "p;ext4+0xffffffff81000040_[k]", kernel_frame(f, 0x40, NULL, "ext4"));
	ASSERT_STACK(f, "p", "p;[kernel]+0xffff_[k]",
		     ((struct frame){ .kind = FRAME_KERNEL, .address = 0xffff }));
	ASSERT_STACK(f, "p", "p;x.py+0x8",
		     ((struct frame){ .kind = 16, .address = 8, .file = "x.py" }));
}

static void a_guess_is_marked_whatever_else_it_is(void **state)
{
	struct fixture *f = *state;

	ASSERT_STACK(f, "p", "p;main_[?]", native_frame(f->prog, 0x1000, FRAME_GUESS));
	ASSERT_STACK(f, "p", "p;[anonymous]+0x1_[?]", native_frame(NULL, 1, FRAME_GUESS));
	ASSERT_STACK(f, "p", "p;outer_[?];middle_[?];tiny_[?]",
		     native_frame(f->prog, 0x3000, FRAME_GUESS));
}

static void an_unfinished_unwind_ends_in_the_reason(void **state)
{
	struct fixture *f = *state;

	ASSERT_STACK(f, "p", "p;[error: no unwind information];main",
		     native_frame(f->prog, 0x1000, 0), error_frame(UNWIND_NO_INFO));
	ASSERT_STACK(f, "p", "p;[truncated];main", native_frame(f->prog, 0x1000, 0),
		     error_frame(UNWIND_TRUNCATED));
	ASSERT_STACK(f, "p", "p;[error: unknown error]", error_frame(250));
}

static void wrappers_of_go_are_left_out(void **state)
{
	struct fixture *f = *state;

	ASSERT_STACK(f, "p", "p;main;main.outer;main.inner[...]_[i]",
		     native_frame(f->prog, 0x8800, 0), native_frame(f->prog, 0x8900, 0),
		     native_frame(f->prog, 0x1000, 0));
	ASSERT_STACK(f, "p", "p;main", native_frame(f->prog, 0x8900, 0),
		     native_frame(f->prog, 0x1000, 0));
	ASSERT_STACK(f, "p", "p;main;do_sys_[k]", kernel_frame(f, 1, "do_sys", "vmlinux"),
		     native_frame(f->prog, 0x8900, 0), native_frame(f->prog, 0x1000, 0));
	/* After a panic, the generated function that caused it is shown. */
	ASSERT_STACK(f, "p", "p;main.(*T).run;runtime.gopanic", native_frame(f->prog, 0x8a00, 0),
		     native_frame(f->prog, 0x8900, 0));
	ASSERT_STACK(f, "p", "p;main;main.caller", native_frame(f->prog, 0x8b00, 0),
		     native_frame(f->prog, 0x1000, 0));
	ASSERT_STACK(f, "p", "p;main.caller;main.(*T).run_[i];runtime.gopanic",
		     native_frame(f->prog, 0x8a00, 0), native_frame(f->prog, 0x8b00, 0));
}

static void interpreted_frames_carry_their_own_names(void **state)
{
	struct fixture *f = *state;
	struct frame frame = {
		.kind = FRAME_FIRST_INTERPRETED,
		.function = "handle",
		.file = "x.py",
		.line = 3,
	};
	struct named_frame names[FRAME_MAX_NAMES];

	ASSERT_STACK(f, "python", "python;handle", frame);
	assert_int_equal(name_frame(&frame, &f->lookup, names), 1);
	assert_string_equal(names[0].file, "x.py");
	assert_int_equal(names[0].line, 3);
	assert_int_equal(f->lookups, 0);
}

static void inlined_interpreted_functions_are_marked_and_so_are_approximate_ones(void **state)
{
	struct fixture *f = *state;
	const struct frame outer = { .kind = FRAME_JAVA, .function = "A.outer", .file = "A.java" };
	struct frame inner = { .kind = FRAME_JAVA, .flags = FRAME_INLINED, .function = "A.inner" };
	struct frame near = outer;
	struct named_frame name;
	struct text_builder text = { 0 };

	ASSERT_STACK(f, "java", "java;A.outer;A.inner_[i]", inner, outer);
	inner.flags |= FRAME_APPROXIMATE;
	near.flags = FRAME_APPROXIMATE;
	/* The physical function's name is known, but not its line. */
	ASSERT_STACK(f, "java", "java;A.outer;A.inner_[~]", inner, near);
	name_frame(&near, NULL, &name);
	append_frame_text(&text, &name, true);
	assert_string_equal(text_builder_text(&text), "A.outer (A.java)_[~]");
	text_builder_deinit(&text);
	inner.flags |= FRAME_GUESS;
	ASSERT_STACK(f, "java", "java;A.outer;A.inner_[?]", inner, outer);
}

static void what_is_inlined_into_an_interpreted_function_is_one_location_with_it(void **state)
{
	struct fixture *f = *state;
	const struct frame outer = { .kind = FRAME_JAVA, .function = "outer" };
	struct frame frames[FRAME_MAX_NAMES + 4];
	struct named_frame names[FRAME_MAX_NAMES];
	struct shown_location location;
	struct trace *trace;
	uint32_t index = 0;

	for (uint32_t i = 0; i < FRAME_MAX_NAMES + 4; i++) {
		frames[i] = outer;
		frames[i].flags = FRAME_INLINED;
		frames[i].line = i;
	}
	/*
	 * One location alone, one with an inlined function, and then more than fit, to the end of
	 * the trace.
	 */
	frames[0].flags = 0;
	frames[2].flags = 0;
	trace = trace_create(frames, FRAME_MAX_NAMES + 4, true, false);
	trace_shown_location(trace, &index, &f->lookup, &location);
	assert_int_equal(location.count, 1);
	trace_shown_location(trace, &index, &f->lookup, &location);
	assert_int_equal(location.count, 2);
	assert_int_equal(index, 3);
	assert_int_equal(name_location(&location, &f->lookup, names), 2);
	assert_true(names[0].is_inlined && !names[1].is_inlined);
	assert_int_equal(names[1].line, 2);
	trace_shown_location(trace, &index, &f->lookup, &location);
	assert_int_equal(location.count, FRAME_MAX_NAMES);
	trace_shown_location(trace, &index, &f->lookup, &location);
	assert_int_equal(location.count, 1);
	assert_int_equal(index, FRAME_MAX_NAMES + 4);
	trace_unref(trace);
}

static void with_lines_the_source_stands_before_the_suffix(void **state)
{
	static const struct {
		struct frame frame;
		bool is_inlined;
		const char *text;
	} cases[] = {
		{ { .kind = 16, .function = "f", .file = "/a b/x;y.py", .line = 3 },
		  false,
		  "f (/a b/x:y.py:3)" },
		{ { .kind = 16, .function = "f", .file = "x.py" }, false, "f (x.py)" },
		{ { .kind = 16, .function = "[python: no name]" }, false, "[python: no name]" },
		{ { .kind = 16, .flags = FRAME_GUESS, .function = "f", .file = "x.py", .line = 3 },
		  false,
		  "f (x.py:3)_[?]" },
		{ { .kind = FRAME_NATIVE, .function = "f", .file = "x.c", .line = 4 },
		  true,
		  "f (x.c:4)_[i]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct named_frame name = {
			.frame = &cases[i].frame,
			.function = cases[i].frame.function,
			.file = cases[i].frame.file,
			.line = cases[i].frame.line,
			.is_inlined = cases[i].is_inlined,
		};
		struct text_builder text = { 0 };

		append_frame_text(&text, &name, true);
		assert_string_equal(text_builder_text(&text), cases[i].text);
		text_builder_deinit(&text);
	}
}

static void without_a_lookup_natives_have_addresses(void **state)
{
	struct fixture *f = *state;
	struct frame frame = native_frame(f->prog, 0x1000, 0);
	struct named_frame names[FRAME_MAX_NAMES];
	struct text_builder text = { 0 };

	assert_int_equal(name_frame(&frame, NULL, names), 1);
	append_frame_text(&text, &names[0], false);
	assert_string_equal(text_builder_text(&text), "prog+0x1000");
	text_builder_deinit(&text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(stacks_read_root_first_behind_the_comm),
		TEST(only_return_addresses_are_looked_up_one_before),
		TEST(native_frames_that_carry_their_name_are_not_looked_up),
		TEST(parting_characters_in_names_are_replaced),
		TEST(frames_without_a_name_have_their_module_and_address),
		TEST(a_guess_is_marked_whatever_else_it_is),
		TEST(an_unfinished_unwind_ends_in_the_reason),
		TEST(wrappers_of_go_are_left_out),
		TEST(interpreted_frames_carry_their_own_names),
		TEST(inlined_interpreted_functions_are_marked_and_so_are_approximate_ones),
		TEST(what_is_inlined_into_an_interpreted_function_is_one_location_with_it),
		TEST(with_lines_the_source_stands_before_the_suffix),
		TEST(without_a_lookup_natives_have_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
