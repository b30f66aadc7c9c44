/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct binary *make_binary(uint8_t file_id_byte)
{
	struct binary values = { .fd = -1, .path = "/bin/x" };

	values.file_id.bytes[0] = file_id_byte;
	return binary_create(&values);
}

static struct hash128 hash_of(const struct frame *frames, uint32_t count)
{
	struct trace *trace = trace_create(frames, count, false, false);
	struct hash128 hash = trace->hash;

	trace_unref(trace);
	return hash;
}

static void frames_and_strings_are_copied_and_binaries_held(void **state)
{
	char function[] = "schedule";
	struct binary *binary = make_binary(1);
	struct frame frames[] = {
		{ .kind = FRAME_KERNEL, .address = 5, .function = function, .file = "vmlinux" },
		{ .kind = FRAME_NATIVE, .address = 6, .binary = binary },
	};
	struct trace *trace = trace_create(frames, 2, true, false);

	(void)state;
	assert_non_null(trace);
	memset(function, 'x', sizeof(function) - 1);
	assert_int_equal(trace->frame_count, 2);
	assert_string_equal(trace_frame(trace, 0).function, "schedule");
	assert_string_equal(trace_frame(trace, 0).file, "vmlinux");
	assert_null(trace_frame(trace, 1).function);
	assert_ptr_equal(trace_frame(trace, 1).binary, binary);
	assert_true(trace->is_complete);
	assert_int_equal(binary->references, 2);
	trace_unref(trace_ref(trace));
	assert_int_equal(binary->references, 2);
	trace_unref(trace);
	assert_int_equal(binary->references, 1);
	binary_unref(binary);
	trace_unref(NULL);
}

static void assert_same_string(const char *a, const char *b)
{
	assert_int_equal(!a, !b);
	if (a)
		assert_string_equal(a, b);
}

static void assert_frames(const struct trace *trace, const struct frame *frames, uint32_t count)
{
	assert_int_equal(trace->frame_count, count);
	for (uint32_t i = 0; i < count; i++) {
		struct frame frame = trace_frame(trace, i);

		assert_int_equal(frame.kind, frames[i].kind);
		assert_int_equal(frame.flags, frames[i].flags);
		assert_int_equal(frame.error, frames[i].error);
		assert_int_equal(frame.line, frames[i].line);
		assert_int_equal(frame.column, frames[i].column);
		assert_int_equal(frame.start_line, frames[i].start_line);
		assert_true(frame.address == frames[i].address);
		assert_ptr_equal(frame.binary, frames[i].binary);
		assert_same_string(frame.function, frames[i].function);
		assert_same_string(frame.file, frames[i].file);
	}
}

static void neighbours_that_differ_in_one_thing_stay_what_they_are(void **state)
{
	struct binary *binary = make_binary(1), *other = make_binary(1);
	const struct frame frame = {
		.kind = FRAME_KERNEL,
		.address = 5,
		.line = 1,
		.binary = binary,
		.function = "f",
		.file = "vmlinux",
	};
	struct frame frames[] = {
		frame,
		frame,
		frame,
		frame,
		frame,
		frame,
		frame,
		frame,
		frame,
		frame,
		{ .kind = FRAME_ERROR, .error = UNWIND_NO_INFO },
		{ .kind = FRAME_ERROR, .error = UNWIND_TRUNCATED },
	};
	const uint32_t count = sizeof(frames) / sizeof(frames[0]);
	struct trace *trace;

	(void)state;
	frames[1].kind = FRAME_NATIVE;
	frames[2].flags = FRAME_GUESS;
	frames[3].address |= 1ULL << 48;
	frames[4].address |= 1ULL << 47;
	frames[5].line = 2;
	frames[6].binary = other;
	frames[7].function = "g";
	frames[8].file = "ext4";
	frames[9].function = NULL;
	trace = trace_create(frames, count, false, false);
	assert_frames(trace, frames, count);
	trace_unref(trace);
	binary_unref(binary);
	binary_unref(other);
}

static void frames_come_out_as_they_went_in(void **state)
{
	enum { COUNT = 300, BINARIES = 40 };
	static const char *const strings[] = { NULL, "", "f", "vmlinux", "vmlinux", "ext4" };
	struct binary *binaries[BINARIES];
	struct frame frames[COUNT];
	struct trace *trace;
	uint32_t random = 5;

	(void)state;
	for (int i = 0; i < BINARIES; i++)
		binaries[i] = make_binary(i);
	for (int i = 0; i < COUNT; i++) {
		random = random * 1664525 + 1013904223;
		frames[i] = (struct frame){
			.kind = random >> 28,
			.flags = random >> 20,
			.address = (uint64_t)random << 33 | random,
			.binary = random >> 8 & 1 ? binaries[(random >> 10) % BINARIES] : NULL,
		};
		if (frames[i].kind == FRAME_ERROR) {
			frames[i].error = random >> 12;
			continue;
		}
		frames[i].line = random >> 17 & 1 ? random : 0;
		frames[i].column = random >> 18 & 1 ? random >> 3 : 0;
		frames[i].start_line = random >> 19 & 1 ? random >> 5 : 0;
		frames[i].function = strings[(random >> 9) % 6];
		frames[i].file = strings[(random >> 13) % 6];
	}
	trace = trace_create(frames, COUNT, false, false);
	assert_frames(trace, frames, COUNT);
	trace_unref(trace);
	for (int i = 0; i < BINARIES; i++) {
		assert_int_equal(binaries[i]->references, 1);
		binary_unref(binaries[i]);
	}
}

static void frames_that_differ_by_address_only_take_8_bytes(void **state)
{
	struct binary *binary = make_binary(1);
	struct frame frames[100];
	struct trace *native, *recursion;
	size_t shape_bytes = 28;

	(void)state;
	for (int i = 0; i < 100; i++)
		frames[i] = (struct frame){ .kind = FRAME_NATIVE, .address = i, .binary = binary };
	native = trace_create(frames, 100, false, false);
	assert_int_equal(native->bytes, sizeof(*native) + 100 * 8 + sizeof(binary) + shape_bytes);
	for (int i = 0; i < 100; i++) {
		/* The texts are equal, the pointers are not. */
		static char names[2][2] = { "f", "f" };

		frames[i] = (struct frame){
			.kind = FRAME_KERNEL,
			.address = i,
			.function = names[i % 2],
			.file = "vmlinux",
			.line = 7,
		};
	}
	recursion = trace_create(frames, 100, false, false);
	assert_int_equal(recursion->bytes, sizeof(*recursion) + 100 * 8 + shape_bytes +
						   sizeof("f") + sizeof("vmlinux"));
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(trace_frame(recursion, i).address, i);
		assert_string_equal(trace_frame(recursion, i).function, "f");
		assert_string_equal(trace_frame(recursion, i).file, "vmlinux");
		assert_int_equal(trace_frame(recursion, i).line, 7);
	}
	trace_unref(native);
	trace_unref(recursion);
	binary_unref(binary);
}

static void a_trace_of_frames_that_have_nothing_in_common_is_whole(void **state)
{
	enum { COUNT = UINT16_MAX };

	struct frame *frames = calloc(COUNT + 1, sizeof(*frames));
	struct trace *trace;

	(void)state;
	for (uint32_t i = 0; i < COUNT; i++)
		frames[i] = (struct frame){ .address = (uint64_t)i << 48 | i, .line = i };
	trace = trace_create(frames, COUNT, false, false);
	for (uint32_t i = 0; i < COUNT; i++) {
		assert_true(trace_frame(trace, i).address == frames[i].address);
		assert_int_equal(trace_frame(trace, i).line, i);
	}
	assert_null(trace_create(frames, COUNT + 1, false, false));
	trace_unref(trace);
	free(frames);
}

static void everything_that_tells_native_frames_apart_is_hashed(void **state)
{
	struct binary *binary = make_binary(1), *other = make_binary(2);
	struct frame frame = { .kind = FRAME_NATIVE, .address = 6, .binary = binary };
	struct frame changed[] = { frame, frame, frame, frame };
	struct hash128 hash = hash_of(&frame, 1);

	(void)state;
	changed[0].address = 7;
	changed[1].binary = other;
	changed[2].flags = FRAME_GUESS;
	changed[3].kind = FRAME_KERNEL;
	assert_true(hash128_equal(hash, hash_of(&frame, 1)));
	for (int i = 0; i < 4; i++)
		assert_false(hash128_equal(hash, hash_of(&changed[i], 1)));
	assert_false(hash128_equal(hash, hash_of(changed, 2)));
	binary_unref(binary);
	binary_unref(other);
}

static void names_that_native_frames_carry_are_hashed(void **state)
{
	struct binary *binary = make_binary(1);
	struct frame frame = {
		.kind = FRAME_NATIVE,
		.address = 6,
		.binary = binary,
		.function = "main",
		.file = "a.c",
		.line = 3,
	};
	struct frame changed[] = { frame, frame, frame };

	(void)state;
	changed[0].function = "other";
	changed[1].file = "b.c";
	changed[2].line = 4;
	for (int i = 0; i < 3; i++)
		assert_false(hash128_equal(hash_of(&frame, 1), hash_of(&changed[i], 1)));
	binary_unref(binary);
}

static void interpreted_frames_differ_by_function_file_line_and_column(void **state)
{
	struct frame frame = {
		.kind = FRAME_FIRST_INTERPRETED,
		.function = "f",
		.file = "ab",
		.line = 3,
	};
	struct frame changed[] = { frame, frame, frame, frame, frame, frame };
	struct hash128 hash = hash_of(&frame, 1);

	(void)state;
	changed[0].function = "g";
	changed[1].line = 4;
	/* The same bytes, split at another position. */
	changed[2].function = "fa";
	changed[2].file = "b";
	changed[3].file = NULL;
	changed[4].column = 1;
	changed[5].start_line = 1;
	for (int i = 0; i < 6; i++)
		assert_false(hash128_equal(hash, hash_of(&changed[i], 1)));
}

static void a_function_is_not_taken_for_a_file(void **state)
{
	struct frame frame = { .kind = FRAME_FIRST_INTERPRETED, .function = "f" };
	struct frame other = { .kind = FRAME_FIRST_INTERPRETED, .file = "f" };

	(void)state;
	assert_false(hash128_equal(hash_of(&frame, 1), hash_of(&other, 1)));
}

static void bpf_programs_at_one_address_differ_by_name(void **state)
{
	struct binary *bpf = make_binary(3);
	struct binary *module = binary_create(&(struct binary){ .fd = -1, .memory_limit = 100 });
	struct binary *binaries[] = { NULL, bpf, module };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct frame frame = { .kind = FRAME_KERNEL, .address = 9, .binary = binaries[i] };
		struct frame other = frame;

		frame.function = "bpf_prog_a";
		other.function = "bpf_prog_b";
		assert_int_equal(hash128_equal(hash_of(&frame, 1), hash_of(&other, 1)),
				 binaries[i] == module);
	}
	binary_unref(bpf);
	binary_unref(module);
}

static void error_frames_differ_by_reason(void **state)
{
	struct frame frame = { .kind = FRAME_ERROR, .error = UNWIND_NO_INFO };
	struct frame other = { .kind = FRAME_ERROR, .error = UNWIND_TRUNCATED };

	(void)state;
	assert_false(hash128_equal(hash_of(&frame, 1), hash_of(&other, 1)));
}

static void a_trace_says_which_errors_it_holds_and_whether_it_guesses(void **state)
{
	struct frame frames[] = {
		{ .kind = FRAME_NATIVE, .address = 1 },
		{ .kind = FRAME_ERROR, .error = UNWIND_TRUNCATED },
		{ .kind = FRAME_ERROR, .error = UNWIND_NO_INFO },
		{ .kind = FRAME_NATIVE, .address = 2, .flags = FRAME_RETURN_ADDRESS | FRAME_GUESS },
	};
	struct trace *plain = trace_create(frames, 1, false, false);
	struct trace *cut = trace_create(frames, 3, false, false);
	struct trace *all = trace_create(frames, 4, false, false);

	(void)state;
	assert_int_equal(plain->error_mask, 0);
	assert_int_equal(cut->error_mask, 1U << UNWIND_TRUNCATED | 1U << UNWIND_NO_INFO);
	assert_false(cut->has_guess);
	assert_int_equal(all->error_mask, cut->error_mask);
	assert_true(all->has_guess);
	trace_unref(plain);
	trace_unref(cut);
	trace_unref(all);
}

static void a_trace_without_frames_is_one(void **state)
{
	struct trace *trace = trace_create(NULL, 0, true, true);

	(void)state;
	assert_non_null(trace);
	assert_true(trace->is_kernel_thread);
	trace_unref(trace);
}

static void every_error_has_a_text_a_name_and_a_number(void **state)
{
	(void)state;
	for (int error = 0; error < UNWIND_ERROR_COUNT; error++) {
		assert_non_null(unwind_error_text(error));
		assert_string_not_equal(unwind_error_text(error), "unknown error");
		assert_non_null(unwind_error_name(error));
		assert_int_equal(unwind_error_of_number(unwind_error_number(error)), error);
		assert_true(!error == !unwind_error_number(error));
		for (int other = 0; other < error; other++) {
			assert_string_not_equal(unwind_error_name(error), unwind_error_name(other));
			assert_string_not_equal(unwind_error_text(error), unwind_error_text(other));
		}
	}
	assert_string_equal(unwind_error_text(200), "unknown error");
	assert_string_equal(unwind_error_name(200), "unknown");
	assert_int_equal(unwind_error_number(UNWIND_TRUNCATED), 2);
	assert_int_equal(unwind_error_number(200), 0);
	assert_int_equal(unwind_error_of_number(UINT64_MAX), UNWIND_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_and_strings_are_copied_and_binaries_held),
		cmocka_unit_test(neighbours_that_differ_in_one_thing_stay_what_they_are),
		cmocka_unit_test(frames_come_out_as_they_went_in),
		cmocka_unit_test(frames_that_differ_by_address_only_take_8_bytes),
		cmocka_unit_test(a_trace_of_frames_that_have_nothing_in_common_is_whole),
		cmocka_unit_test(everything_that_tells_native_frames_apart_is_hashed),
		cmocka_unit_test(names_that_native_frames_carry_are_hashed),
		cmocka_unit_test(interpreted_frames_differ_by_function_file_line_and_column),
		cmocka_unit_test(a_function_is_not_taken_for_a_file),
		cmocka_unit_test(bpf_programs_at_one_address_differ_by_name),
		cmocka_unit_test(error_frames_differ_by_reason),
		cmocka_unit_test(a_trace_says_which_errors_it_holds_and_whether_it_guesses),
		cmocka_unit_test(a_trace_without_frames_is_one),
		cmocka_unit_test(every_error_has_a_text_a_name_and_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
