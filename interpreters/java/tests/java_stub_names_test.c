/* SPDX-License-Identifier: Apache-2.0 */
/* A list that is made here, and the list of each JVM of the machine compared with its own output (PrintStubCode). */
#include "interpreters/java/java_stub_names.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include "interpreters/java/java_attach.h"
#include "interpreters/java/tests/live_java.h"
#include "interpreters/java/tests/made_code.h"

enum {
	/* Offset of the made variables of libjvm.so. */
	DATA_AT = 0x300,
	DATA_BYTES = 64,
	ENTRIES_AT = 0xd000,
	ENTRY_BYTES = 48,
	/* A block of stubs, in segments of 64 bytes after the made method. */
	STUB_SEGMENT = 48,
	STUB_CODE = 0x40,
	STUB_DATA = 0x200,
	LINE_BYTES = 4096,
	LEAST_STUBS = 60,
};

static struct made_vm vm;
static struct java_layout layout;
static struct java_heaps heaps;
static struct java_library library;
static struct java_stub_names names;

static uint64_t code_at(uint32_t offset)
{
	return MADE_VM_BASE + MADE_CODE_AT + (STUB_SEGMENT << MADE_LOG2_SEGMENT_SIZE) +
	       MADE_BLOCK_BYTES + STUB_CODE + offset;
}

static uint64_t entry_address(uint32_t index)
{
	return MADE_VM_BASE + ENTRIES_AT + ENTRY_BYTES * index;
}

/* Writes entry @index, whose next entry is at @next. */
static void put_entry(uint32_t index, uint64_t next, const char *name, uint64_t start, uint64_t end)
{
	uint32_t at = ENTRIES_AT + ENTRY_BYTES * index;

	made_vm_put(&vm, at, next, 8);
	made_vm_put(&vm, at + 8, made_vm_string(&vm, "StubRoutines"), 8);
	made_vm_put(&vm, at + 16, made_vm_string(&vm, name), 8);
	made_vm_put(&vm, at + 24, start, 8);
	made_vm_put(&vm, at + 32, end, 8);
}

static int setup(void **state)
{
	const uint32_t block = MADE_CODE_AT + (STUB_SEGMENT << MADE_LOG2_SEGMENT_SIZE);
	const uint32_t blob = block + MADE_BLOCK_BYTES;
	struct java_process process;

	(void)state;
	made_code_init(&vm);
	layout = made_code_layout();
	for (uint32_t i = 0; i < 9; i++)
		made_code_set_segment(&vm, STUB_SEGMENT + i, (uint8_t)i);
	made_vm_put(&vm, block + 8, 1, 1);
	made_vm_put(&vm, blob + 8, STUB_DATA, 4);
	made_vm_put(&vm, blob + 12, 0x38, 2);
	made_vm_put(&vm, blob + 24, STUB_DATA, 4);
	made_vm_put(&vm, blob + 28, STUB_CODE, 4);
	library = (struct java_library){
		.start = MADE_VM_BASE - MADE_VM_BIAS,
		.end = MADE_VM_BASE - MADE_VM_BIAS + 0x1000,
		.data = { .ranges = { { MADE_VM_BASE - MADE_VM_BIAS + DATA_AT, DATA_BYTES } },
			  .count = 1 },
	};
	made_vm_put(&vm, DATA_AT + 8, entry_address(0), 8);
	put_entry(0, entry_address(1), "sha256_implCompress", code_at(0x80), code_at(0x100));
	put_entry(1, entry_address(2), "call_stub", code_at(0x20), code_at(0x60));
	put_entry(2, 0, "forward exception", code_at(0), code_at(0x20));
	return java_attach_read(&layout, &vm.memory, &heaps, &process);
}

static int teardown(void **state)
{
	(void)state;
	java_stub_names_deinit(&names);
	memset(&names, 0, sizeof(names));
	return 0;
}

static void read_names(void)
{
	teardown(NULL);
	assert_int_equal(java_stub_names_read(&layout, &heaps, &library, MADE_VM_BIAS, &vm.memory,
					      &names),
			 0);
}

static void assert_name(uint32_t offset, const char *name)
{
	const char *found = java_stub_names_find(&names, code_at(offset));

	if (!name)
		assert_null(found);
	else
		assert_string_equal(found, name);
}

static void routines_are_called_as_the_jvm_calls_them(void **state)
{
	(void)state;
	read_names();
	assert_int_equal(names.names.count, 3);
	assert_name(0, "[stub: StubRoutines::forward exception]");
	assert_name(0x1f, "[stub: StubRoutines::forward exception]");
	assert_name(0x20, "[stub: StubRoutines::call_stub]");
	/* Addresses after the end of a routine, and after all of them. */
	assert_name(0x60, NULL);
	assert_name(0x7f, NULL);
	assert_name(0x80, "[stub: StubRoutines::sha256_implCompress]");
	assert_name(0x100, NULL);
	assert_null(java_stub_names_find(&names, code_at(0) - 1));
}

static void up_to_8_addresses_stand_behind_a_number(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		uint8_t *entry = vm.bytes + ENTRIES_AT + ENTRY_BYTES * i;

		memmove(entry + 32, entry + 24, 16);
		memset(entry + 24, 0, 8);
		entry[24] = (uint8_t)(3 - i);
	}
	read_names();
	assert_int_equal(names.names.count, 3);
	assert_name(0x20, "[stub: StubRoutines::call_stub]");
}

static void of_lists_the_longest_counts(void **state)
{
	(void)state;
	made_vm_put(&vm, DATA_AT, entry_address(1), 8);
	made_vm_put(&vm, DATA_AT + 16, entry_address(2), 8);
	read_names();
	assert_int_equal(names.names.count, 3);
	/* An entry that no variable points to is not found. */
	made_vm_put(&vm, DATA_AT + 8, 0, 8);
	read_names();
	assert_int_equal(names.names.count, 2);
}

static void entries_that_are_none_are_passed_over(void **state)
{
	(void)state;
	/* Entries that are incomplete, in a method, without a text, and longer than their block. */
	put_entry(1, entry_address(2), "call_stub", code_at(0x20), 0);
	put_entry(2, entry_address(3), "method", MADE_VM_BASE + MADE_BLOB_AT + MADE_BLOB_CODE,
		  MADE_VM_BASE + MADE_BLOB_AT + MADE_BLOB_CODE + 16);
	put_entry(3, entry_address(4), "forward\nexception", code_at(0), code_at(0x20));
	put_entry(4, entry_address(5), "long", code_at(0x100), code_at(STUB_DATA));
	put_entry(5, entry_address(6), "catch_exception", code_at(0x140), code_at(0x150));
	made_vm_put(&vm, ENTRIES_AT + ENTRY_BYTES * 6 + 8, 0x1234, 8);
	read_names();
	assert_int_equal(names.names.count, 2);
	assert_name(0x80, "[stub: StubRoutines::sha256_implCompress]");
	assert_name(0x140, "[stub: StubRoutines::catch_exception]");
}

static void of_routines_that_overlap_neither_has_a_name(void **state)
{
	(void)state;
	put_entry(1, entry_address(2), "call_stub", code_at(0x10), code_at(0x60));
	read_names();
	assert_int_equal(names.names.count, 1);
	assert_name(0x80, "[stub: StubRoutines::sha256_implCompress]");
	assert_name(0x18, NULL);
}

static void a_list_without_an_end_has_one(void **state)
{
	(void)state;
	put_entry(2, entry_address(0), "forward exception", code_at(0), code_at(0x20));
	read_names();
	/* The list is circular, so each entry was read many times. */
	assert_int_equal(names.names.count, 0);
	/* No variables, or none that can be read. */
	library.data.ranges[0].address += MADE_VM_BYTES;
	read_names();
	library.data.count = 0;
	read_names();
	assert_null(java_stub_names_find(&names, code_at(0)));
}

/* More entries than windows, each in a window of its own, so that every look at an entry is a read. */
static void many_lists_without_an_end_take_no_long_time(void **state)
{
	enum { ENTRIES = 20, WINDOW = 512 };

	(void)state;
	for (uint32_t i = 0; i < ENTRIES; i++) {
		uint32_t at = ENTRIES_AT + WINDOW * i, next = (i + 1) % ENTRIES;

		memcpy(vm.bytes + at, vm.bytes + ENTRIES_AT, ENTRY_BYTES);
		made_vm_put(&vm, at, MADE_VM_BASE + ENTRIES_AT + WINDOW * next, 8);
		if (i < DATA_BYTES / 8)
			made_vm_put(&vm, DATA_AT + 8 * i, MADE_VM_BASE + at, 8);
	}
	vm.reads = 0;
	read_names();
	/* The limit of entries ends the search after four of the eight lists. */
	assert_in_range(vm.reads, 4 * JAVA_STUB_NAMES_MAX, 5 * JAVA_STUB_NAMES_MAX);
}

static void a_library_reaches_from_its_first_segment_to_its_last(void **state)
{
	struct elf_segment segments[] = {
		{ .type = PT_LOAD, .flags = PF_R | PF_X, .address = 4096, .memory_bytes = 100 },
		{ .type = PT_LOAD, .flags = PF_R | PF_W, .address = 8192, .memory_bytes = 200 },
		{ .type = PT_NOTE, .flags = PF_R, .address = 100, .memory_bytes = 50 },
		{ .type = PT_LOAD, .address = UINT64_MAX - 4095, .memory_bytes = 8192 },
	};
	const struct elf_image image = { .segments = segments, .segment_count = 4 };
	struct java_library found;

	(void)state;
	java_library_find(&image, &found);
	assert_int_equal(found.start, 4096);
	assert_int_equal(found.end, 8392);
	assert_int_equal(found.data.count, 1);
}

/* Checks a line "GROUP::NAME [0xSTART, 0xEND] (N bytes)"; true if the line has this form and the routine was found. */
static bool check_line(const struct live_java *java, struct runtime *attached, const char *line)
{
	struct remote_memory *memory = (struct remote_memory *)&java->memory.memory;
	const char *range = strstr(line, " [0x");
	unsigned long start, end;
	char name[LINE_BYTES];

	if (!range || !strstr(line, "::") || sscanf(range, " [%lx, %lx", &start, &end) != 2 ||
	    start == end)
		return false;
	snprintf(name, sizeof(name), "[stub: %.*s]", (int)(range - line), line);
	for (int i = 0; i < 3; i++) {
		/* The first instruction, one in the middle, and a call that ends the routine. */
		uint64_t address = i == 0 ? start : i == 1 ? (start + end) / 2 : end;
		uint8_t flags = i == 2 ? FRAME_RETURN_ADDRESS : 0;
		uint64_t words[2] = { frame_word(FRAME_JAVA, flags, address),
				      (uint64_t)JAVA_STUB << 32 };
		struct interpreted_frames frames;
		uint32_t object = 0;

		assert_int_equal(
			java_language.ops->symbolize(attached, memory, words, &object, &frames), 0);
		assert_int_equal(frames.count, 1);
		assert_string_equal(frames.items[0].function, name);
		/* The first name is from 21 on; in the other one more text follows. */
		if (strstr(name, "eturnBarrier") || strstr(name, "return barrier"))
			assert_true(frames.items[0].marks_trace);
		if (strstr(name, "call_stub"))
			assert_false(frames.items[0].marks_trace);
	}
	return true;
}

static bool check_java(const char *path, const void *context)
{
	static const char *const options[] = { "-Xmx64m", "-XX:+UnlockDiagnosticVMOptions",
					       "-XX:+PrintStubCode", NULL };
	static char printed[512][LINE_BYTES];
	struct runtime *attached = NULL;
	struct attach_target target = { 0 };
	uint32_t count = 0, found = 0;
	char line[LINE_BYTES] = "";
	struct live_java java;

	(void)context;
	assert_int_equal(live_java_start(&java, path, options), 0);
	while (strncmp(line, "version ", 8) != 0 && fgets(line, sizeof(line), java.output))
		if (strstr(line, "::") && strstr(line, " [0x") && count < 512)
			strcpy(printed[count++], line);
	assert_int_equal(live_java_find(&java), 0);
	target.memory = &java.memory.memory;
	target.bias = java.bias;
	assert_int_equal(java_language.ops->attach(java.file, &target, &attached), 0);
	for (uint32_t i = 0; i < count; i++)
		found += check_line(&java, attached, printed[i]);
	print_message("%s: %u routines\n", path, found);
	java_language.ops->detach(attached);
	live_java_stop(&java);
	return found >= LEAST_STUBS;
}

static void names_are_those_that_each_jvm_prints(void **state)
{
	(void)state;
	assert_int_equal(check_javas(check_java, NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(routines_are_called_as_the_jvm_calls_them),
		TEST(up_to_8_addresses_stand_behind_a_number),
		TEST(of_lists_the_longest_counts),
		TEST(entries_that_are_none_are_passed_over),
		TEST(of_routines_that_overlap_neither_has_a_name),
		TEST(a_list_without_an_end_has_one),
		TEST(many_lists_without_an_end_take_no_long_time),
		cmocka_unit_test(a_library_reaches_from_its_first_segment_to_its_last),
		cmocka_unit_test(names_are_those_that_each_jvm_prints),
	};

	return cmocka_run_group_tests(tests, NULL, live_java_remove_classes);
}
