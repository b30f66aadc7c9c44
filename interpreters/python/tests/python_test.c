/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaches to a process that has only a table of offsets and a function. Checks the kernel side's data about frames,
 * and that tables which this data cannot express are refused.
 */
#include "interpreters/python/python.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "ebpf/abi/python.h"
#include "interpreters/python/python_layouts.h"
#include "interpreters/python/python_probe.h"

enum {
	VERSION = 0x100,
	FUNCTION = 0x200,
	RUNTIME = 0x400,
	MEMORY_BYTES = RUNTIME + PYTHON_DEBUG_OFFSETS_BYTES,
	/** Words of the table of 3.13. */
	FRAME_PREVIOUS = 29,
	FRAME_EXECUTABLE,
	FRAME_INSTRUCTION,
	FRAME_OWNER = 33,
};

struct made_process {
	struct remote_memory memory;
	uint8_t bytes[MEMORY_BYTES];
};

static int read_made(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct made_process *process = (struct made_process *)memory;

	if (address >= MEMORY_BYTES || bytes > MEMORY_BYTES - address)
		return -EFAULT;
	memcpy(buffer, process->bytes + address, bytes);
	return 0;
}

static void put_word(struct made_process *process, int index, uint64_t value)
{
	memcpy(process->bytes + RUNTIME + 8 * index, &value, sizeof(value));
}

/* Makes CPython 3.13.0, as far as attach reads it. */
static struct made_process make_process(void)
{
	static const struct remote_memory_ops ops = { .read = read_made };
	static const uint8_t words[][2] = {
		{ 21, 8 },   { 22, 16 }, { 23, 72 },  { 24, 152 }, { FRAME_PREVIOUS, 8 },
		{ 31, 56 },  { 33, 70 }, { 35, 112 }, { 36, 120 }, { 37, 128 },
		{ 38, 136 }, { 39, 68 }, { 43, 200 }, { 65, 16 },  { 66, 32 },
		{ 68, 32 },  { 69, 16 }, { 70, 40 },
	};
	/* mov %fs:-0x28,%rax; ret */
	static const uint8_t function[] = { 0x64, 0x48, 0x8b, 0x04, 0x25,
					    0xd8, 0xff, 0xff, 0xff, 0xc3 };
	struct made_process process = { .memory = { .ops = &ops } };
	const uint32_t version = 0x030d00f0;

	memcpy(process.bytes + VERSION, &version, sizeof(version));
	memcpy(process.bytes + FUNCTION, function, sizeof(function));
	memcpy(process.bytes + RUNTIME, "xdebugpy", 8);
	put_word(&process, 1, version);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		put_word(&process, words[i][0], words[i][1]);
	return process;
}

static int attach(struct made_process *made, struct python_process *data)
{
	const struct python_file file = {
		.file = { .language = &python_language, .version = "CPython 3.13" },
		.machine = EM_X86_64,
		.version = PYTHON_VERSION(3, 13),
		.version_address = VERSION,
		.version_text = { (char)0xf0, 0, 13, 3 },
		.version_bytes = 4,
		.runtime = RUNTIME,
		.thread_state_function = FUNCTION,
	};
	const struct attach_target target = { .memory = &made->memory };
	struct runtime *process;
	int err = python_language.ops->attach(&file.file, &target, &process);

	if (err)
		return err;
	memcpy(data, process->data, sizeof(*data));
	python_language.ops->detach(process);
	return 0;
}

static int attach_with(int index, uint64_t value)
{
	struct made_process made = make_process();
	struct python_process data;

	put_word(&made, index, value);
	return attach(&made, &data);
}

static void frames_are_told_from_their_first_field_to_behind_their_last(void **state)
{
	struct made_process made = make_process();
	struct python_process data;

	(void)state;
	assert_int_equal(attach(&made, &data), 0);
	assert_int_equal(data.chain, PYTHON_CURRENT_FRAME);
	assert_int_equal(data.thread_state[0].depth, 1);
	assert_int_equal(data.thread_state[0].offsets[0], -0x28);
	assert_int_equal(data.thread_frame, 72);
	assert_int_equal(data.frame_start, 0);
	assert_int_equal(data.frame_bytes, 71);
	assert_int_equal(data.frame_previous, 8);
	assert_int_equal(data.frame_instruction, 56);
	assert_int_equal(data.frame_owner, 70);
}

static void frames_that_cannot_be_told_are_refused(void **state)
{
	static const struct {
		int index;
		uint16_t last_good, first_bad;
	} cases[] = {
		/* At most 128 bytes of a frame are read. */
		{ FRAME_OWNER, 127, 128 },
		{ FRAME_INSTRUCTION, 120, 121 },
		/* Offsets after the part that is read. */
		{ FRAME_PREVIOUS, 63, 64 },
		{ FRAME_EXECUTABLE, 63, 64 },
	};
	struct made_process made = make_process();
	struct python_process data;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(attach_with(cases[i].index, cases[i].last_good), 0);
		assert_int_equal(attach_with(cases[i].index, cases[i].first_bad), -EOPNOTSUPP);
	}
	/* Some fields are far from the struct's beginning, where others remain; then all of them are. */
	put_word(&made, FRAME_EXECUTABLE, 300);
	put_word(&made, FRAME_PREVIOUS, 308);
	assert_int_equal(attach(&made, &data), -EOPNOTSUPP);
	put_word(&made, FRAME_INSTRUCTION, 316);
	put_word(&made, FRAME_OWNER, 324);
	assert_int_equal(attach(&made, &data), -EOPNOTSUPP);
}

static void another_version_in_memory_is_refused(void **state)
{
	struct made_process made = make_process();
	struct python_process data;

	(void)state;
	made.bytes[VERSION + 2] = 12;
	assert_int_equal(attach(&made, &data), -EOPNOTSUPP);
}

static void what_is_not_set_up_yet_is_tried_again(void **state)
{
	struct made_process made = make_process();
	struct python_process data;
	/* xor %eax,%eax; ret */
	const uint8_t function[] = { 0x31, 0xc0, 0xc3 };

	(void)state;
	assert_int_equal(attach_with(0, 0), -EAGAIN);
	memcpy(made.bytes + FUNCTION, function, sizeof(function));
	assert_int_equal(attach(&made, &data), -EAGAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_told_from_their_first_field_to_behind_their_last),
		cmocka_unit_test(frames_that_cannot_be_told_are_refused),
		cmocka_unit_test(another_version_in_memory_is_refused),
		cmocka_unit_test(what_is_not_set_up_yet_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
