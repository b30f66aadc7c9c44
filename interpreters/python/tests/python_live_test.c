/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every interpreter of the machine runs python_target.py, which prints a thousand code objects: names, files, and
 * the line of every instruction. The test reads the same from outside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <errno.h>

#include "interpreters/python/tests/live_python.h"
#include "lib/base/text.h"

static const char script[] = "interpreters/python/tests/python_target.py";

enum { HEX_MAX_BYTES = 2 * FRAME_NAME_MAX_BYTES, CHAIN_FRAMES = 8 };

static uint64_t frame_word_of(uint64_t code)
{
	return frame_word(FRAME_PYTHON, 0, code);
}

static int name_of(struct live_python *python, uint64_t code, uint32_t fingerprint,
		   uint32_t position, struct interpreted_frame *frame)
{
	uint64_t words[2] = { frame_word_of(code), (uint64_t)position << 32 | fingerprint };
	struct interpreted_frames frames;
	uint32_t object = 0;
	int err = python->process->language->ops->symbolize(python->process, &python->memory.memory,
							    words, &object, &frames);

	if (!err)
		*frame = frames.items[0];
	return err;
}

/* Checks that @text is the script's text @hex, or the beginning of it if it is too long. */
static void check_text(const char *text, const char *hex)
{
	size_t length = strlen(text), wanted = strcmp(hex, "-") ? strlen(hex) / 2 : 0;

	if (wanted > FRAME_NAME_MAX_BYTES)
		assert_in_range(length, FRAME_NAME_MAX_BYTES - 3, FRAME_NAME_MAX_BYTES);
	else
		assert_int_equal(length, wanted);
	for (size_t i = 0; i < length; i++) {
		unsigned int byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		assert_int_equal((uint8_t)text[i], byte);
	}
}

/* The number of bytes in a unit of @python's positions. */
static uint32_t position_bytes(const struct live_python *python)
{
	return strstr(python->file->version, " 3.10") ? 2 : 1;
}

/* Checks the line of every instruction; returns their number. */
static size_t check_lines(struct live_python *python, uint64_t code, uint32_t fingerprint,
			  const char *runs)
{
	uint32_t unit = position_bytes(python), line, count, offset = 0;
	struct interpreted_frame frame;
	size_t checked = 0;
	int length;

	for (; sscanf(runs, " %u*%u%n", &line, &count, &length) == 2; runs += length) {
		/* Instructions of 3.6 and later have two bytes. */
		uint32_t step = count > 64 ? 64 : 2;

		for (uint32_t i = 0; i < count; i += step) {
			if ((offset + i) % unit)
				continue;
			assert_int_equal(
				name_of(python, code, fingerprint, (offset + i) / unit, &frame), 0);
			if (frame.line != line)
				print_message("%s: code %#lx, offset %u\n", python->file->version,
					      (long)code, offset + i);
			assert_int_equal(frame.line, line);
			checked++;
		}
		offset += count;
	}
	return checked;
}

/* Checks one line of the script's output; returns the number of instructions. */
static size_t check_code(struct live_python *python, const char *line)
{
	static char name[HEX_MAX_BYTES * 8], file[HEX_MAX_BYTES * 8];
	struct interpreted_frame frame;
	unsigned long code;
	uint32_t fingerprint;
	int length = 0;

	assert_int_equal(sscanf(line, "code %lu %65535s %65535s%n", &code, name, file, &length), 3);
	fingerprint = live_fingerprint(python, code);
	assert_int_equal(name_of(python, code, fingerprint, UINT32_MAX, &frame), 0);
	check_text(frame.function, name);
	if (!strcmp(file, "-"))
		assert_null(frame.file);
	else
		check_text(frame.file, file);
	if (strlen(line) > 20000)
		return 0;
	return check_lines(python, code, fingerprint, line + length);
}

static uint64_t first_frame(struct live_python *python, uint64_t thread)
{
	const struct python_process *data = (const void *)python->process->data;

	if (data->chain == PYTHON_CFRAME)
		return read_word(python, read_word(python, thread + data->thread_cframe) +
						 data->cframe_current);
	return read_word(python, thread + data->thread_frame);
}

/* Reads the frames of the waiting thread as the kernel side does. */
static size_t unwind_frames(struct live_python *python, uint64_t thread, uint64_t words[][2])
{
	const struct python_process *data = (const void *)python->process->data;
	uint64_t frame = first_frame(python, thread);
	size_t count = 0;

	for (int i = 0; frame && i < 64 && count < CHAIN_FRAMES; i++) {
		uint8_t bytes[PYTHON_READ_MAX_BYTES];
		uint64_t code, position = 0;

		if (remote_memory_read(&python->memory.memory, frame + data->frame_start, bytes,
				       data->frame_bytes))
			break;
		memcpy(&code, bytes + data->frame_code, 8);
		memcpy(&position, bytes + data->frame_instruction,
		       data->chain <= PYTHON_FRAME_OBJECTS_CFRAME ? 4 : 8);
		memcpy(&frame, bytes + data->frame_previous, 8);
		if (data->frame_owner != PYTHON_NO_OFFSET &&
		    bytes[data->frame_owner] >= PYTHON_OWNER_LOOP)
			continue;
		code &= ~(uint64_t)data->code_tag_mask;
		if (data->frame_tlbc_index != PYTHON_NO_OFFSET) {
			uint64_t index = 0;

			memcpy(&index, bytes + data->frame_tlbc_index, 4);
			position -= read_word(python, read_word(python, code + data->code_tlbc) +
							      8 * (index + 1));
		} else if (data->code_bytecode) {
			position -= code + data->code_bytecode;
		}
		words[count][0] = frame_word_of(code);
		words[count++][1] = position << 32 | live_fingerprint(python, code);
	}
	return count;
}

static void check_frame(struct live_python *python, const uint64_t words[2], const char *name,
			uint32_t line)
{
	struct interpreted_frames frames;
	const struct interpreted_frame *frame = &frames.items[0];
	uint32_t object = 0;

	assert_int_equal(python->process->language->ops->symbolize(
				 python->process, &python->memory.memory, words, &object, &frames),
			 0);
	assert_int_equal(frames.count, 1);
	assert_string_equal(frame->function, name);
	/* From 3.9 on it is the whole path. */
	assert_true(text_ends_with(frame->file, script));
	assert_int_equal(frame->line, line);
}

/* Checks the stack in which the script waits: inner, a lambda of middle, middle, the module. */
static void check_chain(struct live_python *python, const char *line)
{
	bool has_qualified_names =
		!strstr(python->file->version, " 2.7") && !strstr(python->file->version, " 3.6") &&
		!strstr(python->file->version, " 3.7") && !strstr(python->file->version, " 3.8") &&
		!strstr(python->file->version, " 3.9") && !strstr(python->file->version, " 3.10");
	uint64_t thread = thread_state_of(python, 0);
	uint64_t words[CHAIN_FRAMES][2];
	unsigned int lines[3];
	size_t count;

	assert_int_equal(sscanf(line, "chain %u %u %u", &lines[0], &lines[1], &lines[2]), 3);
	assert_int_not_equal(thread, 0);
	count = unwind_frames(python, thread, words);
	assert_true(count >= 4);
	/* Readers of stdin may be Python functions themselves. */
	count -= 4;
	check_frame(python, words[count], "inner", lines[0]);
	check_frame(python, words[count + 1],
		    has_qualified_names ? "middle.<locals>.<lambda>" : "<lambda>", lines[1]);
	check_frame(python, words[count + 2], "middle", lines[1]);
	check_frame(python, words[count + 3], "<module>", lines[2]);
}

static void check_python(const char *path)
{
	struct live_python python;
	size_t codes = 0, instructions = 0, capacity = 0;
	char *line = NULL;
	bool is_complete = false;
	int err;

	assert_int_equal(live_python_start(&python, path, script), 0);
	while (!is_complete && getline(&line, &capacity, python.output) > 0) {
		if (!python.process) {
			err = live_python_attach(&python);
			/* 2.7 may keep its keys in a list of its own, which is not followed. */
			if (err == -EOPNOTSUPP && python.file &&
			    strstr(python.file->version, " 2.7")) {
				print_message("%s: refused\n", path);
				free(line);
				live_python_stop(&python);
				return;
			}
			if (err)
				print_message("%s: %s (%d)\n", path, error_text(), err);
			assert_int_equal(err, 0);
		}
		if (!strncmp(line, "code ", 5)) {
			instructions += check_code(&python, line);
			codes++;
		} else if (!strncmp(line, "chain ", 6)) {
			/* Wait until the script reads its stdin. */
			for (int i = 0; i < 100; i++) {
				char state[64] = "";
				FILE *file;

				snprintf(state, sizeof(state), "/proc/%d/wchan", python.pid);
				file = fopen(state, "r");
				if (file && fgets(state, sizeof(state), file) &&
				    strstr(state, "pipe"))
					i = 100;
				if (file)
					fclose(file);
				usleep(10000);
			}
			check_chain(&python, line);
			is_complete = true;
		}
	}
	assert_true(is_complete);
	assert_true(codes > 500);
	print_message(
		"%s: %s, %u ranges, %zu code objects, %zu instructions, probe %.2f ms, attach "
		"%.2f ms\n",
		path, python.file->version, python.file->range_count, codes, instructions,
		python.probe_ms, python.attach_ms);
	free(line);
	live_python_stop(&python);
}

static void names_files_and_lines_are_those_that_each_interpreter_says(void **state)
{
	glob_t found;
	size_t count = find_pythons(&found);

	(void)state;
	if (!count) {
		globfree(&found);
		print_message("no Python here\n");
		skip();
	}
	for (size_t i = 0; i < count; i++)
		check_python(found.gl_pathv[i]);
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_files_and_lines_are_those_that_each_interpreter_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
