/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_symbolize.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ebpf/abi/java.h"
#include "interpreters/java/tests/made_code.h"

enum {
	/** Offsets in the memory. */
	MAPS_AT = 0xc000,
	DEEP_SCOPES_AT = 0xc100,
	UNLOADS_AT = 0xf000,
	METHODS_AT = 0xd000,
	METHOD_BYTES = 0x400,
	/** Offsets from a method of the parts that belong to it. */
	CONST_METHOD = 0x40,
	CONSTANTS = 0x100,
	KLASS = 0x200,
	SYMBOLS = 0x280,
	CODE_BYTES = 40,
	COMPILE_ID = 77,
};

/* Each method is inlined into the one before it. */
enum { OUTER, MIDDLE, INNER, METHOD_COUNT };

static struct made_vm vm;
static struct java_symbolizer symbolizer;
static uint64_t now_ns;

static uint32_t method_at(int method)
{
	return METHODS_AT + METHOD_BYTES * (uint32_t)method;
}

static uint64_t make_symbol(uint32_t at, const char *text)
{
	made_vm_put(&vm, at + 4, strlen(text), 2);
	memcpy(vm.bytes + at + 6, text, strlen(text));
	return MADE_VM_BASE + at;
}

/* Makes a method whose bytecode b is in line @line + b. */
static void make_method(int method, const char *class_name, const char *name, uint32_t line)
{
	uint32_t at = method_at(method), table = at + CONST_METHOD + 48 + CODE_BYTES;
	uint32_t symbols = at + SYMBOLS;

	made_vm_put(&vm, at + 8, MADE_VM_BASE + at + CONST_METHOD, 8);
	made_vm_put(&vm, at + CONST_METHOD + 8, MADE_VM_BASE + at + CONSTANTS, 8);
	made_vm_put(&vm, at + CONST_METHOD + 16, CODE_BYTES, 2);
	made_vm_put(&vm, at + CONST_METHOD + 18, 1, 2);
	made_vm_put(&vm, at + CONST_METHOD + 20, 2, 2);
	made_vm_put(&vm, at + CONST_METHOD + 24, 20, 4);
	made_vm_put(&vm, at + CONST_METHOD + 28, 1, 2);
	/* The first entry sets the line; each other one advances by a byte and a line. */
	vm.bytes[table++] = 0xff;
	vm.bytes[table++] = 0;
	vm.bytes[table++] = (uint8_t)(2 * line);
	memset(vm.bytes + table, 1 << 3 | 1, CODE_BYTES - 1);
	made_vm_put(&vm, at + CONSTANTS + 8, MADE_VM_BASE + at + KLASS, 8);
	made_vm_put(&vm, at + CONSTANTS + 16, 4, 4);
	made_vm_put(&vm, at + CONSTANTS + 20, 3, 2);
	made_vm_put(&vm, at + CONSTANTS + 24 + 8, make_symbol(symbols, name), 8);
	made_vm_put(&vm, at + CONSTANTS + 24 + 16, make_symbol(symbols + 64, "()V"), 8);
	made_vm_put(&vm, at + CONSTANTS + 24 + 24, make_symbol(symbols + 128, "A.java"), 8);
	made_vm_put(&vm, at + KLASS + 16, make_symbol(symbols + 192, class_name), 8);
}

/* Makes records at 10 for the outer method and at 20 for the innermost one. */
static int set_up(void **state)
{
	const struct java_layout layout = made_code_layout();

	(void)state;
	made_code_init(&vm);
	make_method(OUTER, "a/Outer", "run", 10);
	make_method(MIDDLE, "a/Middle", "call", 20);
	make_method(INNER, "a/Inner$1", "get", 30);
	for (int i = 0; i < METHOD_COUNT; i++)
		made_vm_put(&vm, MADE_BLOB_AT + MADE_METADATA + 8 * (uint32_t)i,
			    MADE_VM_BASE + method_at(i), 8);
	made_vm_put(&vm, MADE_BLOB_AT + 32, MADE_VM_BASE + method_at(OUTER), 8);
	made_vm_put(&vm, MADE_BLOB_AT + 40, COMPILE_ID, 4);
	made_vm_put(&vm, MADE_BLOB_AT + 56, MADE_VM_BASE + MAPS_AT, 8);
	made_vm_put(&vm, MADE_BLOB_AT + 64, MADE_RECORDS, 4);
	made_vm_put(&vm, MADE_BLOB_AT + 68, MADE_RECORDS + 4 * 16, 4);
	made_vm_put(&vm, MADE_BLOB_AT + 72, MADE_SCOPES, 4);
	made_vm_put(&vm, MADE_BLOB_AT + 76, MADE_METADATA, 4);
	made_vm_put(&vm, MAPS_AT, 2, 4);
	made_code_put_scope(&vm, 1, 0, OUTER + 1, 4);
	made_code_put_scope(&vm, 7, 1, MIDDLE + 1, 5);
	made_code_put_scope(&vm, 13, 7, INNER + 1, 6);
	made_code_put_record(&vm, 0, -1, 0);
	made_code_put_record(&vm, 1, 10, 1);
	made_code_put_record(&vm, 2, 20, 13);
	made_code_put_record(&vm, 3, INT32_MAX, 0);
	java_symbolizer_init(&symbolizer, &layout, 0, false, NULL);
	now_ns = NS_PER_SECOND;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	java_symbolizer_deinit(&symbolizer);
	return 0;
}

static int name_compiled_by(struct java_symbolizer *by, uint32_t offset, uint8_t flags,
			    struct interpreted_frames *frames)
{
	uint64_t position = JAVA_COMPILED | offset;
	const uint64_t words[2] = {
		frame_word(FRAME_JAVA, flags, MADE_VM_BASE + MADE_BLOB_AT),
		position << 32 | fingerprint_of(MADE_VM_BASE + method_at(OUTER), COMPILE_ID),
	};

	return java_symbolize(by, &vm.memory, words, now_ns, frames);
}

static int name_compiled(uint32_t offset, uint8_t flags, struct interpreted_frames *frames)
{
	return name_compiled_by(&symbolizer, offset, flags, frames);
}

/* Names a frame that was sampled when @unloads classes had been unloaded and the class had its current version. */
static int name_interpreted_at(struct java_symbolizer *by, uint64_t unloads, int method,
			       uint32_t bci, struct interpreted_frames *frames)
{
	uint64_t word = 0, holder = 0;
	uint32_t version;
	uint64_t words[2] = { frame_word(FRAME_JAVA, 0, MADE_VM_BASE + method_at(method)) };

	memcpy(&version, vm.bytes + method_at(method) + CONSTANTS, 4);
	memcpy(&holder, vm.bytes + method_at(method) + CONSTANTS + 8, 8);
	memcpy(&word, vm.bytes + method_at(method) + CONST_METHOD + 16, 8);
	words[1] = (uint64_t)bci << 32 |
		   java_method_fingerprint(MADE_VM_BASE + method_at(method) + CONSTANTS, word,
					   unloads, holder, version);
	return java_symbolize(by, &vm.memory, words, now_ns, frames);
}

static int name_interpreted_by(struct java_symbolizer *by, int method, uint32_t bci,
			       struct interpreted_frames *frames)
{
	return name_interpreted_at(by, 0, method, bci, frames);
}

static int name_interpreted(int method, uint32_t bci, struct interpreted_frames *frames)
{
	return name_interpreted_by(&symbolizer, method, bci, frames);
}

static void check_frame(const struct interpreted_frame *frame, const char *function, uint32_t line)
{
	assert_string_equal(frame->function, function);
	assert_string_equal(frame->file, "A.java");
	assert_int_equal(frame->line, line);
}

static void all_methods_that_are_inlined_have_names_and_lines(void **state)
{
	struct interpreted_frames frames;

	(void)state;
	/* Read at first, then cached. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(name_compiled(20, FRAME_RETURN_ADDRESS, &frames), 0);
		assert_int_equal(frames.count, 3);
		check_frame(&frames.items[0], "a.Inner$1.get", 36);
		check_frame(&frames.items[1], "a.Middle.call", 25);
		check_frame(&frames.items[2], "a.Outer.run", 14);
		for (uint32_t j = 0; j < 3; j++) {
			assert_int_equal(frames.items[j].is_inlined, j < 2);
			assert_false(frames.items[j].is_approximate);
		}
	}
}

static void by_one_method_virtual_threads_are_mounted(void **state)
{
	static const char *const names[] = { "enterSpecial", "enterSpecialX", "enter" };
	struct interpreted_frames frames;

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		struct java_symbolizer named;
		const struct java_layout layout = made_code_layout();

		make_method(OUTER, "jdk/internal/vm/Continuation", names[i / 2], 10);
		java_symbolizer_init(&named, &layout, 0, i % 2, NULL);
		assert_int_equal(name_interpreted_by(&named, OUTER, 0, &frames), 0);
		assert_int_equal(frames.items[0].marks_trace, i < 2);
		java_symbolizer_deinit(&named);
	}
}

static void between_the_pcs_that_the_jvm_knows_names_are_approximate(void **state)
{
	struct interpreted_frames frames;

	(void)state;
	assert_int_equal(name_compiled(18, 0, &frames), 0);
	assert_int_equal(frames.count, 1);
	check_frame(&frames.items[0], "a.Outer.run", 14);
	assert_true(frames.items[0].is_approximate);
	assert_false(frames.items[0].is_inlined);
	/* The same pc is another frame if it is a return address. */
	assert_int_equal(name_compiled(10, 0, &frames), 0);
	assert_true(frames.items[0].is_approximate);
	assert_int_equal(name_compiled(10, FRAME_RETURN_ADDRESS, &frames), 0);
	assert_false(frames.items[0].is_approximate);
}

static void a_frame_of_the_interpreter_is_one_method(void **state)
{
	struct interpreted_frames frames;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(name_interpreted(MIDDLE, 7, &frames), 0);
		assert_int_equal(frames.count, 1);
		check_frame(&frames.items[0], "a.Middle.call", 27);
		assert_false(frames.items[0].is_inlined || frames.items[0].is_approximate);
	}
	assert_int_equal(name_interpreted(MIDDLE, JAVA_NO_BCI, &frames), 0);
	check_frame(&frames.items[0], "a.Middle.call", 0);
}

/* Compile ids are not reused, so the cached name stays right after the code is freed. */
static void nothing_is_read_for_compiled_code_that_is_known(void **state)
{
	struct interpreted_frames frames;

	(void)state;
	assert_int_equal(name_compiled(20, FRAME_RETURN_ADDRESS, &frames), 0);
	made_vm_put(&vm, MADE_BLOB_AT + 40, COMPILE_ID + 1, 4);
	vm.reads = 0;
	now_ns += 2 * JAVA_LOOK_NS;
	assert_int_equal(name_compiled(20, FRAME_RETURN_ADDRESS, &frames), 0);
	assert_int_equal(frames.count, 3);
	check_frame(&frames.items[0], "a.Inner$1.get", 36);
	assert_int_equal(vm.reads, 0);
	/* Other pcs of freed code cannot be named any more. */
	assert_int_equal(name_compiled(10, FRAME_RETURN_ADDRESS, &frames), -ESTALE);
	made_vm_put(&vm, MADE_BLOB_AT + 40, COMPILE_ID, 4);
	made_vm_put(&vm, MADE_BLOB_AT - MADE_BLOCK_BYTES + 8, 0, 1);
	assert_int_equal(name_compiled(10, FRAME_RETURN_ADDRESS, &frames), -ESTALE);
}

static void an_interpreted_method_is_looked_at_again_after_a_while(void **state)
{
	struct interpreted_frames frames;

	(void)state;
	assert_int_equal(name_interpreted(MIDDLE, 7, &frames), 0);
	vm.reads = 0;
	now_ns += JAVA_LOOK_NS - 1;
	assert_int_equal(name_interpreted(MIDDLE, 7, &frames), 0);
	assert_int_equal(vm.reads, 0);
	now_ns++;
	assert_int_equal(name_interpreted(MIDDLE, 7, &frames), 0);
	assert_in_range(vm.reads, 1, 5);
	vm.reads = 0;
	now_ns += JAVA_LOOK_NS - 1;
	assert_int_equal(name_interpreted(MIDDLE, 7, &frames), 0);
	assert_int_equal(vm.reads, 0);
}

static void a_class_of_the_same_form_at_the_address_of_another_has_its_own_name(void **state)
{
	uint32_t symbol = method_at(INNER) + SYMBOLS + 0x120;
	struct interpreted_frames frames;

	(void)state;
	assert_int_equal(name_interpreted(INNER, 1, &frames), 0);
	check_frame(&frames.items[0], "a.Inner$1.get", 31);
	made_vm_put(&vm, method_at(INNER) + KLASS + 16, make_symbol(symbol, "a/Other"), 8);
	now_ns += JAVA_LOOK_NS;
	assert_int_equal(name_interpreted(INNER, 1, &frames), 0);
	check_frame(&frames.items[0], "a.Other.get", 31);
	/* While the class cannot be read, the old name is not used. */
	made_vm_put(&vm, method_at(INNER) + KLASS + 16, 8, 8);
	now_ns += JAVA_LOOK_NS;
	for (int i = 0; i < 2; i++)
		assert_int_equal(name_interpreted(INNER, 1, &frames), -EFAULT);
	/* A method of another form is not the one that was sampled. */
	made_vm_put(&vm, method_at(INNER) + CONST_METHOD + 8, MADE_VM_BASE + method_at(OUTER), 8);
	now_ns += JAVA_LOOK_NS;
	assert_int_equal(name_interpreted(INNER, 1, &frames), -ESTALE);
}

static void where_unloaded_classes_are_counted_names_are_of_the_class_that_was_sampled(void **state)
{
	uint32_t symbol = method_at(INNER) + SYMBOLS + 0x120;
	struct java_symbolizer counting;
	struct interpreted_frames frames;

	(void)state;
	java_symbolizer_init(&counting, &symbolizer.layout, MADE_VM_BASE + UNLOADS_AT, false, NULL);
	made_vm_put(&vm, UNLOADS_AT, 5, 8);
	assert_int_equal(name_interpreted_at(&counting, 4, INNER, 1, &frames), -ESTALE);
	assert_int_equal(name_interpreted_at(&counting, 5, INNER, 1, &frames), 0);
	check_frame(&frames.items[0], "a.Inner$1.get", 31);
	/* Another class takes its address. */
	made_vm_put(&vm, UNLOADS_AT, 6, 8);
	made_vm_put(&vm, method_at(INNER) + KLASS + 16, make_symbol(symbol, "a/Other"), 8);
	assert_int_equal(name_interpreted_at(&counting, 6, INNER, 1, &frames), 0);
	check_frame(&frames.items[0], "a.Other.get", 31);
	/* A frame from before that was not named then cannot be named now; a cached one can. */
	assert_int_equal(name_interpreted_at(&counting, 5, INNER, 2, &frames), -ESTALE);
	vm.reads = 0;
	now_ns += 2 * JAVA_LOOK_NS;
	assert_int_equal(name_interpreted_at(&counting, 5, INNER, 1, &frames), 0);
	check_frame(&frames.items[0], "a.Inner$1.get", 31);
	assert_int_equal(vm.reads, 0);
	java_symbolizer_deinit(&counting);
}

static void redefined_classes_have_the_lines_of_the_version_that_was_sampled(void **state)
{
	struct java_symbolizer counting;
	struct interpreted_frames frames;

	(void)state;
	java_symbolizer_init(&counting, &symbolizer.layout, MADE_VM_BASE + UNLOADS_AT, false, NULL);
	made_vm_put(&vm, UNLOADS_AT, 5, 8);
	for (uint32_t version = 0; version < 3; version++) {
		make_method(INNER, "a/Inner$1", "get", 30 + version);
		made_vm_put(&vm, method_at(INNER) + CONSTANTS, version, 4);
		assert_int_equal(name_interpreted_at(&counting, 5, INNER, 1, &frames), 0);
		check_frame(&frames.items[0], "a.Inner$1.get", 31 + version);
	}
	/* A cached frame of an old version is still known. */
	made_vm_put(&vm, method_at(INNER) + CONSTANTS, 1, 4);
	vm.reads = 0;
	assert_int_equal(name_interpreted_at(&counting, 5, INNER, 1, &frames), 0);
	check_frame(&frames.items[0], "a.Inner$1.get", 32);
	assert_int_equal(vm.reads, 0);
	java_symbolizer_deinit(&counting);
}

static void deep_chains_keep_the_innermost_and_the_physical_method(void **state)
{
	enum { DEPTH = 300 };
	struct interpreted_frames frames;

	(void)state;
	made_vm_put(&vm, MADE_BLOB_AT + 72, DEEP_SCOPES_AT - MADE_BLOB_AT, 4);
	/* Each scope has four bytes; numbers from 192 on have two. */
	for (uint32_t i = 1; i <= DEPTH; i++) {
		uint8_t *at = vm.bytes + DEEP_SCOPES_AT + 4 * i;
		uint32_t sender = 4 * (i - 1);

		if (sender >= 192) {
			*at++ = (uint8_t)(192 + ((sender - 192) & 63));
			*at++ = (uint8_t)((sender - 192) >> 6);
		} else {
			*at++ = (uint8_t)sender;
		}
		*at++ = i == 1 ? OUTER + 1 : INNER + 1;
		*at = 1 + 1;
	}
	made_code_put_record(&vm, 2, 20, 4 * DEPTH);
	assert_int_equal(name_compiled(20, FRAME_RETURN_ADDRESS, &frames), 0);
	assert_int_equal(frames.count, JAVA_MAX_SCOPES);
	check_frame(&frames.items[0], "a.Inner$1.get", 31);
	check_frame(&frames.items[JAVA_MAX_SCOPES - 1], "a.Outer.run", 11);
	assert_false(frames.items[JAVA_MAX_SCOPES - 1].is_inlined);
}

/* Forged scopes leave the compiled method alone; forged methods have no names. */
static void forged_debug_information_leaves_the_compiled_method(void **state)
{
	struct interpreted_frames frames;

	(void)state;
	made_code_put_scope(&vm, 13, 20, INNER + 1, 6);
	assert_int_equal(name_compiled(20, FRAME_RETURN_ADDRESS, &frames), 0);
	assert_int_equal(frames.count, 1);
	check_frame(&frames.items[0], "a.Outer.run", 10);
	assert_true(frames.items[0].is_approximate);
	made_vm_put(&vm, MADE_BLOB_AT + MADE_METADATA, 8, 8);
	assert_int_equal(name_compiled(10, FRAME_RETURN_ADDRESS, &frames), -EFAULT);
}

/* Memory that fails from a certain read on, or changes the code at that read. */
struct passing_memory {
	struct remote_memory memory;
	uint32_t reads;
	uint32_t reads_until;
	int err;
};

static int read_passing(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct passing_memory *passing = (struct passing_memory *)memory;

	if (passing->reads++ == passing->reads_until) {
		if (passing->err)
			return passing->err;
		made_vm_put(&vm, MADE_BLOB_AT + 40, COMPILE_ID + 1, 4);
	}
	return remote_memory_read(&vm.memory, address, buffer, bytes);
}

static void what_is_read_in_part_is_no_answer_and_not_kept(void **state)
{
	static const struct remote_memory_ops ops = { .read = read_passing };
	static const int errors[] = { -EAGAIN, -ESRCH, 0 };
	const uint64_t words[2] = {
		frame_word(FRAME_JAVA, FRAME_RETURN_ADDRESS, MADE_VM_BASE + MADE_BLOB_AT),
		(uint64_t)(JAVA_COMPILED | 20) << 32 |
			fingerprint_of(MADE_VM_BASE + method_at(OUTER), COMPILE_ID),
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct interpreted_frames frames;
		uint32_t until = 0;

		for (;; until++) {
			struct passing_memory passing = { .memory = { .ops = &ops },
							  .reads_until = until,
							  .err = errors[i] };
			int err;

			tear_down(state);
			set_up(state);
			err = java_symbolize(&symbolizer, &passing.memory, words, now_ns, &frames);
			if (passing.reads <= until) {
				assert_int_equal(err, 0);
				break;
			}
			assert_int_equal(err, errors[i] ? errors[i] : -ESTALE);
			assert_int_equal(symbolizer.cache.count, 0);
		}
		assert_int_equal(symbolizer.cache.count, 1);
		/* Each of the three methods took some reads. */
		assert_in_range(until, 6, 60);
	}
}

static void names_may_have_types(void **state)
{
	struct interpreted_frames frames;

	(void)state;
	symbolizer.with_signatures = true;
	assert_int_equal(name_compiled(20, FRAME_RETURN_ADDRESS, &frames), 0);
	check_frame(&frames.items[0], "a.Inner$1.get()V", 36);
	check_frame(&frames.items[1], "a.Middle.call()V", 25);
}

static void cached_frames_are_evicted_when_there_are_too_many(void **state)
{
	struct interpreted_frames frames;

	(void)state;
	for (uint32_t bci = 0; bci < JAVA_CACHE_MAX_ENTRIES + 100; bci++)
		assert_int_equal(name_interpreted(OUTER, bci, &frames), 0);
	assert_in_range(symbolizer.cache.count, 100, JAVA_CACHE_MAX_ENTRIES);
	assert_in_range(symbolizer.cache.bytes, 100, JAVA_CACHE_MAX_BYTES);
}

static void fill(struct java_symbolizer *filled)
{
	struct interpreted_frames frames;

	for (uint32_t bci = 0; bci < JAVA_CACHE_MAX_ENTRIES; bci++)
		assert_int_equal(name_interpreted_by(filled, OUTER, bci, &frames), 0);
}

static void the_caches_of_all_processes_have_a_common_limit(void **state)
{
	enum { COUNT = 4 };
	const struct java_layout layout = made_code_layout();
	struct java_symbolizer filled[COUNT];
	struct interpreted_frames frames;

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		java_symbolizer_init(&filled[i], &layout, 0, false, NULL);
		fill(&filled[i]);
	}
	/* The first processes have the limit of one process, the others the minimum. */
	for (int i = 0; i < 2; i++)
		assert_in_range(filled[i].cache.bytes, JAVA_CACHE_MAX_BYTES * 3 / 4,
				JAVA_CACHE_MAX_BYTES);
	for (int i = 2; i < COUNT; i++)
		assert_in_range(filled[i].cache.bytes, JAVA_CACHE_MIN_BYTES * 3 / 4,
				JAVA_CACHE_MIN_BYTES * 5 / 4);
	/* A process over its limit drops only the excess. */
	assert_int_equal(name_compiled_by(&filled[0], 20, FRAME_RETURN_ADDRESS, &frames), 0);
	assert_in_range(filled[0].cache.bytes, JAVA_CACHE_MAX_BYTES / 2,
			JAVA_CACHE_MAX_BYTES * 7 / 8);
	java_symbolizer_deinit(&filled[2]);
	java_symbolizer_deinit(&filled[0]);
	fill(&filled[3]);
	assert_in_range(filled[3].cache.bytes, JAVA_CACHE_MIN_BYTES * 2, JAVA_CACHE_MAX_BYTES);
	java_symbolizer_deinit(&filled[3]);
	java_symbolizer_deinit(&filled[1]);
}

static void cached_frames_that_nobody_asks_for_are_dropped(void **state)
{
	struct interpreted_frames frames;

	(void)state;
	assert_int_equal(name_interpreted(OUTER, 1, &frames), 0);
	assert_int_equal(name_interpreted(OUTER, 2, &frames), 0);
	for (int i = 0; i < 2; i++) {
		now_ns += JAVA_CACHE_AGE_NS;
		assert_int_equal(name_interpreted(OUTER, 2, &frames), 0);
	}
	assert_int_equal(symbolizer.cache.count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_methods_that_are_inlined_have_names_and_lines),
		TEST(by_one_method_virtual_threads_are_mounted),
		TEST(between_the_pcs_that_the_jvm_knows_names_are_approximate),
		TEST(a_frame_of_the_interpreter_is_one_method),
		TEST(nothing_is_read_for_compiled_code_that_is_known),
		TEST(an_interpreted_method_is_looked_at_again_after_a_while),
		TEST(where_unloaded_classes_are_counted_names_are_of_the_class_that_was_sampled),
		TEST(redefined_classes_have_the_lines_of_the_version_that_was_sampled),
		TEST(a_class_of_the_same_form_at_the_address_of_another_has_its_own_name),
		TEST(deep_chains_keep_the_innermost_and_the_physical_method),
		TEST(forged_debug_information_leaves_the_compiled_method),
		TEST(what_is_read_in_part_is_no_answer_and_not_kept),
		TEST(names_may_have_types),
		TEST(cached_frames_are_evicted_when_there_are_too_many),
		TEST(the_caches_of_all_processes_have_a_common_limit),
		TEST(cached_frames_that_nobody_asks_for_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
