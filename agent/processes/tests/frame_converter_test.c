/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/tests/fakes.h"

#include "agent/processes/executable_cache.h"
#include "agent/processes/frame_converter.h"
#include "agent/processes/kernel_symbols.h"

struct fixture {
	struct fake_writer writer;
	struct fake_proc root;
	struct executable_cache *executables;
	struct kernel_symbols *symbols;
	struct frame_converter *converter;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct executable_cache_config config = {};
	struct frame_converter_config converter_config = { 0 };
	char path[128];

	fake_writer_init(&fixture->writer);
	fake_proc_init(&fixture->root);
	config.writer = &fixture->writer.writer;
	snprintf(path, sizeof(path), "%s/kallsyms", fixture->root.root);
	write_text(path, "ffffffff81000000 T _stext\n"
			 "ffffffff81001000 T first_function\n"
			 "ffffffff81002000 T second_function\n"
			 "ffffffff81002800 T asm_sysvec_reschedule_ipi\n"
			 "ffffffff81003000 T _etext\n"
			 "ffffffffa0000100 t bpf_prog_1_sample\t[bpf]\n"
			 "ffffffffc0001000 t module_function\t[ext4]\n");
	snprintf(path, sizeof(path), "%s/modules", fixture->root.root);
	write_text(path, "ext4 8192 1 - Live 0xffffffffc0001000\n");
	assert_int_equal(executable_cache_create(&config, &fixture->executables), 0);
	assert_int_equal(kernel_symbols_create(&fixture->symbols, fixture->root.root,
					       fixture->root.root),
			 0);
	converter_config.executables = fixture->executables;
	converter_config.kernel_symbols = fixture->symbols;
	assert_int_equal(frame_converter_create(&converter_config, &fixture->converter), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	frame_converter_destroy(fixture->converter);
	kernel_symbols_destroy(fixture->symbols);
	executable_cache_destroy(fixture->executables);
	fake_proc_deinit(&fixture->root);
	free(fixture);
	return 0;
}

static struct trace *convert(struct fixture *fixture, const uint64_t *words, uint32_t count,
			     uint8_t flags)
{
	const struct raw_stack stack = { .words = words, .word_count = count, .flags = flags };
	bool is_lasting = false;
	struct trace *trace = frame_converter_convert(fixture->converter, &stack, &is_lasting);

	assert_non_null(trace);
	assert_true(is_lasting);
	return trace;
}

static void kernel_frames_have_names_and_modules(void **state)
{
	const uint64_t words[] = {
		0xffffffffc0001010,
		0xffffffff81001020,
	};
	struct trace *trace = convert(*state, words, 2, RECORD_KERNEL_THREAD);

	assert_int_equal(trace->frame_count, 2);
	assert_string_equal(trace_frame(trace, 0).function, "module_function");
	assert_string_equal(trace_frame(trace, 0).file, "ext4");
	assert_string_equal(trace_frame(trace, 1).function, "first_function");
	assert_string_equal(trace_frame(trace, 1).file, "vmlinux");
	assert_true(trace_frame(trace, 1).binary->is_kernel);
	/* Where the kernel and its modules are is said nowhere. */
	assert_int_equal(trace_frame(trace, 0).address, 0x10);
	assert_int_equal(trace_frame(trace, 1).address, 0x1020);
	assert_int_equal(trace_frame(trace, 1).binary->memory_start, 0);
	assert_int_equal(trace_frame(trace, 1).binary->memory_limit, 0x3000);
	assert_int_equal(trace_frame(trace, 0).binary->memory_limit, 8192);
	trace_unref(trace);
}

static void code_in_no_text_is_at_an_offset_of_its_function(void **state)
{
	const uint64_t words[] = {
		0xffffffffa0000123,
		0xffffffffa0000223,
	};
	struct trace *trace = convert(*state, words, 2, RECORD_KERNEL_THREAD);

	assert_string_equal(trace_frame(trace, 0).function, "bpf_prog_1_sample");
	assert_int_equal(trace_frame(trace, 0).address, 0x23);
	assert_int_equal(trace_frame(trace, 1).address, 0x123);
	assert_int_equal(trace_frame(trace, 1).flags, FRAME_RETURN_ADDRESS);
	trace_unref(trace);
}

static void a_return_address_belongs_to_the_function_of_the_call(void **state)
{
	/* A call that does not return stands at the function's end. */
	const uint64_t words[] = {
		0xffffffff81002000,
		0xffffffff81002000,
	};
	struct trace *trace = convert(*state, words, 2, RECORD_KERNEL_THREAD);

	assert_string_equal(trace_frame(trace, 0).function, "second_function");
	assert_string_equal(trace_frame(trace, 1).function, "first_function");
	trace_unref(trace);
}

static void what_was_interrupted_at_its_first_instruction_has_its_own_name(void **state)
{
	const uint64_t words[] = {
		0xffffffff81001010,
		0xffffffff81002816,
		0xffffffff81002000,
		0xffffffff81002000,
	};
	struct trace *trace = convert(*state, words, 4, RECORD_KERNEL_THREAD);

	assert_string_equal(trace_frame(trace, 1).function, "asm_sysvec_reschedule_ipi");
	assert_string_equal(trace_frame(trace, 2).function, "second_function");
	assert_string_equal(trace_frame(trace, 3).function, "first_function");
	trace_unref(trace);
}

static void a_kernel_address_of_nobody_is_not_shown(void **state)
{
	const uint64_t words[] = { 0xffff888000001234 };
	struct trace *trace = convert(*state, words, 1, 0);

	assert_null(trace_frame(trace, 0).function);
	assert_null(trace_frame(trace, 0).binary);
	assert_int_equal(trace_frame(trace, 0).address, 0);
	trace_unref(trace);
}

static void only_a_stack_that_reached_its_end_is_complete(void **state)
{
	const uint64_t words[] = { frame_word(FRAME_NATIVE, 0, 0x1000), EXECUTABLE_ID_UPROBES };
	struct trace *whole = convert(*state, words, 2, RECORD_REACHED_END);
	struct trace *cut = convert(*state, words, 2, 0);

	assert_true(whole->is_complete);
	assert_false(cut->is_complete);
	trace_unref(whole);
	trace_unref(cut);
}

static void the_longest_stack_is_converted_whole(void **state)
{
	uint64_t *words = calloc(TRACE_MAX_WORDS, sizeof(*words));
	struct trace *trace;
	uint32_t count = 0;

	for (uint32_t i = 0; i < KERNEL_FRAMES_MAX; i++)
		words[count++] = 0xffffffff81001000 + i;
	for (uint32_t i = 0; i < USER_FRAMES_MAX; i++) {
		words[count++] = frame_word(FRAME_NATIVE, 0, 0x1000 + i);
		words[count++] = EXECUTABLE_ID_ANONYMOUS;
	}
	words[count++] = frame_word(FRAME_ERROR, UNWIND_TRUNCATED, 0);
	assert_int_equal(count, TRACE_MAX_WORDS);
	trace = convert(*state, words, count, 0);
	assert_int_equal(trace->frame_count, KERNEL_FRAMES_MAX + USER_FRAMES_MAX + 1);
	assert_int_equal(trace_frame(trace, trace->frame_count - 1).error, UNWIND_TRUNCATED);
	trace_unref(trace);
	free(words);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kernel_frames_have_names_and_modules),
		TEST(a_return_address_belongs_to_the_function_of_the_call),
		TEST(what_was_interrupted_at_its_first_instruction_has_its_own_name),
		TEST(a_kernel_address_of_nobody_is_not_shown),
		TEST(code_in_no_text_is_at_an_offset_of_its_function),
		TEST(only_a_stack_that_reached_its_end_is_complete),
		TEST(the_longest_stack_is_converted_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
