// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Python frames between native ones, for each way in which CPython's frames are linked. */
#include "ebpf/host/tests/python_fixture.h"

/* C called from 0, which 1 called; that loop was called by C, and that from 2 in another loop. */
static uint32_t add_two_loops(struct python *python, uint32_t *outer)
{
	uint32_t inner;

	add_native(python, RULE_C);
	inner = add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_C);
	*outer = add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_C);
	add_native(python, RULE_END);
	return inner;
}

static void lay_two_loops(struct python *python)
{
	uint32_t outer, inner = add_two_loops(python, &outer);
	uint64_t frame;

	frame = add_frame(python, 2, add_loop_frame(python, outer, 0));
	frame = add_loop_frame(python, inner, frame);
	set_current(python, add_frames(python, 0, 1, frame));
}

static void a_current_frame_leads_through_the_loops(void **state)
{
	struct python *python = *state;
	const uint64_t *words = python->world->trace.words;
	__u64 fingerprint_words[PYTHON_CODE_WORDS] = { 1000, 1005, 1008, 1012 };

	use_chain(python, PYTHON_CURRENT_FRAME);
	lay_two_loops(python);
	assert_string_equal(unwind_text(python), "C01LC2LCE");
	assert_int_equal(python->world->trace.error, UNWIND_OK);
	assert_int_equal(python->world->trace.interpreter_error, UNWIND_OK);
	assert_int_equal(words[4], frame_word(FRAME_PYTHON, 0, python_code_at(1)));
	assert_int_equal(words[5] >> 32, 2);
	assert_int_equal((uint32_t)words[5], python_code_fingerprint(fingerprint_words, 0));
	assert_int_not_equal((uint32_t)words[5], (uint32_t)words[3]);
	/* The frames that a native frame runs have its address as pc. */
	assert_int_equal(python->world->trace.pcs[2], code_at(RULE_OF_LOOP));
	assert_int_equal(python->world->trace.pcs[6], code_at(RULE_OF_LOOP));
	assert_int_equal(python->world->trace.pcs[0], code_at(RULE_C));
}

static void a_copied_stack_begins_where_the_frames_are_used_up(void **state)
{
	struct python *python = *state;
	uint32_t outer, inner;
	uint64_t frame;

	use_chain(python, PYTHON_CURRENT_FRAME);
	add_native(python, RULE_GREENLET);
	inner = add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_GREENLET);
	outer = add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_GREENLET);
	add_native(python, RULE_C);
	add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_END);
	frame = add_frame(python, 2, add_loop_frame(python, outer, 0));
	frame = add_loop_frame(python, inner, frame);
	set_current(python, add_frames(python, 0, 1, frame));
	assert_string_equal(unwind_text(python), "G01LG2LG");
	assert_int_equal(python->world->trace.error, UNWIND_OK);
}

static void above_a_copied_stack_may_be_anything(void **state)
{
	struct python *python = *state;
	uint32_t above;

	use_chain(python, PYTHON_CURRENT_FRAME);
	add_native(python, RULE_C);
	add_native(python, RULE_GREENLET);
	above = add_native(python, RULE_END);
	set_current(python, 0);
	assert_string_equal(unwind_text(python), "CGE");
	python->world->stack[above - 1] = HEAP_START;
	assert_string_equal(unwind_text(python), "CG");
	assert_int_equal(python->world->trace.error, UNWIND_OK);
}

static void without_the_process_s_table_loops_are_native(void **state)
{
	struct python *python = *state;
	const struct runtime_row other = { EXECUTABLE_ID + 1, FRAME_PYTHON, DATA_CELL };

	use_chain(python, PYTHON_CURRENT_FRAME);
	lay_two_loops(python);
	world_put(python->world, INTERPRETER_CELL, &other, sizeof(other));
	assert_string_equal(unwind_text(python), "CLCLCE");
	python->world->start.runtime_cell = 0;
	assert_string_equal(unwind_text(python), "CLCLCE");
	/* The last possible row. */
	publish(python);
	for (int i = 0; i < RUNTIMES_MAX - 1; i++)
		world_put(python->world, INTERPRETER_CELL + i, &other, sizeof(other));
	world_put(python->world, INTERPRETER_CELL + RUNTIMES_MAX - 1,
		  &(struct runtime_row){ EXECUTABLE_ID, FRAME_PYTHON, DATA_CELL }, sizeof(other));
	assert_string_equal(unwind_text(python), "C01LC2LCE");
}

static void a_loop_that_has_pushed_nothing_yet_runs_nothing(void **state)
{
	struct python *python = *state;
	uint32_t outer;
	uint64_t frame;

	use_chain(python, PYTHON_CURRENT_FRAME);
	add_native(python, RULE_LOOP_ENTRY);
	add_native(python, RULE_C);
	outer = add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_END);
	frame = add_loop_frame(python, outer, 0);
	set_current(python, add_frames(python, 0, 4, frame));
	assert_string_equal(unwind_text(python), "LC01234LE");
	/* The loop is leaving, with its own frame as the current one. */
	set_current(python, frame);
	assert_string_equal(unwind_text(python), "LCLE");
}

static void the_first_loop_of_a_thread_may_have_no_frames_at_all(void **state)
{
	struct python *python = *state;

	use_chain(python, PYTHON_CURRENT_FRAME);
	add_native(python, RULE_LOOP_ENTRY);
	add_native(python, RULE_C);
	add_native(python, RULE_END);
	set_current(python, 0);
	assert_string_equal(unwind_text(python), "LCE");
	assert_int_equal(python->world->trace.interpreter_error, UNWIND_OK);
	/* From 3.14 on a frame of the thread state, without a function. */
	set_current(python, frame_at(5));
	put(python, frame_at(5) + FRAME_OWNER - 6, (uint64_t)(OWNER_LOOP + 1) << 48);
	assert_string_equal(unwind_text(python), "LCE");
	assert_int_equal(python->world->trace.interpreter_error, UNWIND_OK);
}

static void the_outermost_frame_may_run_python(void **state)
{
	struct python *python = *state;
	uint32_t loop;

	use_chain(python, PYTHON_CURRENT_FRAME);
	loop = add_native(python, RULE_OF_LOOP);
	/* A stack that a program has made: the return address is 0. */
	python->world->stack[loop + LOOP_WORDS - 1] = 0;
	set_current(python, add_frame(python, 3, add_loop_frame(python, loop, 0)));
	assert_string_equal(unwind_text(python), "3L");
	assert_int_equal(python->world->trace.error, UNWIND_OK);
}

static void frames_of_a_native_frame_that_the_unwind_missed_are_not_lost(void **state)
{
	struct python *python = *state;
	uint32_t loop, missed;
	uint64_t frame;

	use_chain(python, PYTHON_CURRENT_FRAME);
	missed = python->next_word;
	python->next_word += LOOP_WORDS;
	loop = add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_END);
	frame = add_frame(python, 2, add_loop_frame(python, loop, 0));
	frame = add_loop_frame(python, missed, frame);
	set_current(python, add_frames(python, 0, 1, frame));
	assert_string_equal(unwind_text(python), "012LE");
}

static void tags_hidden_code_and_bytecode_of_a_thread(void **state)
{
	struct python *python = *state;
	const uint64_t *words = python->world->trace.words;
	uint64_t bytecode = HEAP_START + 0x40000, array = HEAP_START + 0x50000;

	use_chain(python, PYTHON_CURRENT_FRAME);
	python->process.code_tag_mask = 3;
	python->process.hidden_code = python_code_at(1);
	python->process.frame_tlbc_index = FRAME_TLBC_INDEX;
	publish(python);
	lay_two_loops(python);
	put(python, frame_at(0) + FRAME_CODE, python_code_at(0) | 1);
	put(python, frame_at(1) + FRAME_CODE, python_code_at(1) | 3);
	assert_string_equal(unwind_text(python), "C0LC2LCE");
	assert_int_equal(words[2], frame_word(FRAME_PYTHON, 0, python_code_at(0)));
	assert_int_equal(words[3] >> 32, 0);
	/* Index 2, of another thread. */
	put(python, python_code_at(0) + CODE_TLBC, array);
	put(python, array + 8 + 2 * 8, bytecode);
	put(python, frame_at(0) + FRAME_TLBC_INDEX, 2);
	put(python, frame_at(0) + FRAME_INSTRUCTION, bytecode + 46);
	assert_string_equal(unwind_text(python), "C0LC2LCE");
	assert_int_equal(words[3] >> 32, 46);
	/* It cannot be read: the position is one that no code has. */
	put(python, python_code_at(0) + CODE_TLBC, 8);
	assert_string_equal(unwind_text(python), "C0LC2LCE");
	assert_int_not_equal(words[3] >> 32, 46);
}

static void cframes_part_the_frames(void **state)
{
	struct python *python = *state;
	uint64_t root = HEAP_START + 0x800, frame, inner_cframe, outer_cframe;
	uint32_t outer, inner;

	use_chain(python, PYTHON_CFRAME);
	python->process.frame_owner = PYTHON_NO_OFFSET;
	publish(python);
	inner = add_two_loops(python, &outer);
	frame = add_frame(python, 2, 0);
	outer_cframe =
		add_cframe(python, loop_frame_at(outer), frame, add_cframe(python, root, 0, 0));
	frame = add_frames(python, 0, 1, frame);
	inner_cframe = add_cframe(python, loop_frame_at(inner), frame, outer_cframe);
	set_cframe(python, inner_cframe);
	assert_string_equal(unwind_text(python), "C01LC2LCE");
	/* The inner one has not pushed its cframe yet: the frames are of the outer one. */
	add_cframe(python, outer_cframe, frame, root);
	set_cframe(python, outer_cframe);
	assert_string_equal(unwind_text(python), "CLC012LCE");
	/* Neither of them has pushed its cframe. */
	set_cframe(python, root);
	assert_string_equal(unwind_text(python), "CLCLCE");
	assert_int_equal(python->world->trace.interpreter_error, UNWIND_OK);
}

/* 3.12 has both: the loop's own frames are no functions. */
static void cframes_part_the_frames_with_owners(void **state)
{
	struct python *python = *state;
	uint64_t root = HEAP_START + 0x800, frame, cframe;
	uint32_t outer, inner;

	use_chain(python, PYTHON_CFRAME);
	inner = add_two_loops(python, &outer);
	/* Behind the cframe, of three words. */
	frame = add_frame(python, 2, add_loop_frame(python, outer + 3, 0));
	cframe = add_cframe(python, stack_address(outer), frame, add_cframe(python, root, 0, 0));
	frame = add_loop_frame(python, inner + 3, frame);
	frame = add_frames(python, 0, 1, frame);
	set_cframe(python, add_cframe(python, stack_address(inner), frame, cframe));
	assert_string_equal(unwind_text(python), "C01LC2LCE");
}

static void a_cframe_of_a_missed_loop_and_one_without_frames(void **state)
{
	struct python *python = *state;
	uint64_t root = HEAP_START + 0x800, frame, cframe;
	uint32_t missed, loop;

	use_chain(python, PYTHON_CFRAME);
	python->process.frame_owner = PYTHON_NO_OFFSET;
	python->process.unpushed[0] = (struct python_code_range){ TEXT_ADDRESS + RULE_C * 16,
								  TEXT_ADDRESS + RULE_C * 16 + 16 };
	publish(python);
	missed = python->next_word;
	python->next_word += LOOP_WORDS;
	loop = add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_END);
	frame = add_frame(python, 2, 0);
	cframe = add_cframe(python, loop_frame_at(loop), frame, add_cframe(python, root, 0, 0));
	frame = add_frames(python, 0, 1, frame);
	set_cframe(python, add_cframe(python, loop_frame_at(missed), frame, cframe));
	assert_string_equal(unwind_text(python), "012LE");
	/* Before the store to its cframe, a loop has a stale value there. */
	python->process.unpushed[0] =
		(struct python_code_range){ TEXT_ADDRESS + RULE_OF_LOOP * 16,
					    TEXT_ADDRESS + RULE_OF_LOOP * 16 + 16 };
	publish(python);
	set_cframe(python, add_cframe(python, cframe, 0x1234, root));
	assert_string_equal(unwind_text(python), "LE");
	assert_int_equal(python->world->trace.interpreter_error, UNWIND_OK);
}

static void a_cframe_without_words_yet_leads_to_the_next_one_by_its_address(void **state)
{
	struct python *python = *state;
	uint64_t root = HEAP_START + 0x800, frame, cframe;
	uint32_t outer, inner;

	use_chain(python, PYTHON_CFRAME);
	python->process.frame_owner = PYTHON_NO_OFFSET;
	/* The leaf's pc is at 8, the return address of the other is looked up at 7. */
	python->process.unpushed[0] =
		(struct python_code_range){ TEXT_ADDRESS + RULE_OF_LOOP * 16 + 8,
					    TEXT_ADDRESS + RULE_OF_LOOP * 16 + 9 };
	publish(python);
	inner = add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_C);
	outer = add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_END);
	frame = add_frame(python, 2, 0);
	cframe = add_cframe(python, loop_frame_at(outer), frame, add_cframe(python, root, 0, 0));
	/* The stale pointer leads to unreadable memory, to the end, past a loop, and back. */
	for (const uint64_t *previous =
		     (uint64_t[]){ 0xdead0000, 0, root, loop_frame_at(inner), 1 };
	     *previous != 1; previous++) {
		set_cframe(python, add_cframe(python, loop_frame_at(inner), 0x1234, *previous));
		assert_string_equal(unwind_text(python), "LC2LE");
		assert_int_equal(python->world->trace.interpreter_error, UNWIND_OK);
	}
	set_cframe(python, add_cframe(python, loop_frame_at(inner), 0x1234, cframe));
	assert_string_equal(unwind_text(python), "LC2LE");
}

static void a_broken_chain_of_a_cframe_costs_its_frames_only(void **state)
{
	struct python *python = *state;
	uint64_t root = HEAP_START + 0x800, frame, cframe;
	uint32_t outer, inner;

	use_chain(python, PYTHON_CFRAME);
	inner = add_two_loops(python, &outer);
	frame = add_frame(python, 2, 0);
	cframe = add_cframe(python, stack_address(outer), frame, add_cframe(python, root, 0, 0));
	frame = add_frames(python, 0, 1, 0xdead0000);
	set_cframe(python, add_cframe(python, stack_address(inner), frame, cframe));
	assert_string_equal(unwind_text(python), "C01!LC2LCE");
	assert_int_equal(python->world->trace.interpreter_error, UNWIND_INTERPRETER_FRAMES);
	/* A loop that is interrupted has not set it yet. */
	world_set_registers(python->world, code_at(RULE_OF_LOOP), stack_address(inner), 0);
	assert_string_equal(unwind_text(python), "LC2LCE");
	assert_int_equal(python->world->trace.interpreter_error, UNWIND_OK);
}

static void each_loop_runs_one_frame_object(void **state)
{
	struct python *python = *state;
	uint32_t outer;

	use_chain(python, PYTHON_FRAME_OBJECTS);
	add_two_loops(python, &outer);
	set_current(python, add_frames(python, 0, 1, 0));
	assert_string_equal(unwind_text(python), "C0LC1LCE");
	assert_int_equal(python->world->trace.words[7] >> 32, 0);
	assert_int_equal(python->world->trace.words[9] >> 32, 2);
	/* One frame too many, in a thread state that was made by hand. */
	set_current(python, add_frames(python, 0, 2, 0));
	assert_string_equal(unwind_text(python), "C0LC1LCE");
	/* One frame too few. */
	set_current(python, add_frame(python, 0, 0));
	assert_string_equal(unwind_text(python), "C0LC!LCE");
}

static void code_that_has_not_pushed_its_frame_object_is_known(void **state)
{
	struct python *python = *state;
	uint64_t loop_start = TEXT_ADDRESS + RULE_OF_LOOP * 16;

	use_chain(python, PYTHON_FRAME_OBJECTS);
	add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_C);
	add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_END);
	set_current(python, add_frame(python, 0, 0));
	assert_string_equal(unwind_text(python), "0LC!LE");
	/* The leaf's pc is at 8, the return address of the other is looked up at 7. */
	python->process.unpushed[0] = (struct python_code_range){ 0x100000, 0x100010 };
	python->process.unpushed[1] = (struct python_code_range){ loop_start + 8, loop_start + 9 };
	publish(python);
	assert_string_equal(unwind_text(python), "LC0LE");
	python->process.unpushed[1] = (struct python_code_range){ loop_start + 7, loop_start + 8 };
	publish(python);
	assert_string_equal(unwind_text(python), "0LCLE");
}

static void cframes_tell_which_loop_has_a_frame_object(void **state)
{
	struct python *python = *state;
	uint64_t root = HEAP_START + 0x800, cframe;
	uint32_t inner, outer;

	use_chain(python, PYTHON_FRAME_OBJECTS_CFRAME);
	inner = add_two_loops(python, &outer);
	cframe = add_cframe(python, loop_frame_at(outer), 0, add_cframe(python, root, 0, 0));
	set_cframe(python, cframe);
	set_current(python, add_frame(python, 0, 0));
	assert_string_equal(unwind_text(python), "CLC0LCE");
	set_cframe(python, add_cframe(python, loop_frame_at(inner), 0, cframe));
	set_current(python, add_frames(python, 0, 1, 0));
	assert_string_equal(unwind_text(python), "C0LC1LCE");
	/* If a loop is interrupted, its address decides and not the cframe, which is removed first. */
	python->process.unpushed[0] = (struct python_code_range){ 1, 2 };
	publish(python);
	set_cframe(python, cframe);
	world_set_registers(python->world, code_at(RULE_OF_LOOP), stack_address(inner), 0);
	assert_string_equal(unwind_text(python), "0LC1LCE");
}

static void the_thread_s_path_may_be_long_or_the_second(void **state)
{
	struct python *python = *state;

	use_chain(python, PYTHON_CURRENT_FRAME);
	lay_two_loops(python);
	python->thread[2] = 0;
	assert_string_equal(unwind_text(python), "C!LCLCE");
	assert_int_equal(python->world->trace.error, UNWIND_OK);
	assert_int_equal(python->world->trace.interpreter_error, UNWIND_INTERPRETER_THREAD);
	python->process.thread_state[1] =
		(struct thread_local_path){ .offsets = { 24, -16, 8 }, .depth = 3 };
	publish(python);
	python->thread[3] = HEAP_START + 0x900;
	put(python, HEAP_START + 0x900 - 16, HEAP_START + 0xa00);
	put(python, HEAP_START + 0xa00 + 8, THREAD_STATE);
	assert_string_equal(unwind_text(python), "C01LC2LCE");
	/* Instead of a pointer that leads nowhere. */
	python->process.thread_state[0].depth = 2;
	python->process.thread_state[0].offsets[1] = 0;
	publish(python);
	python->thread[2] = 0xdead0000;
	assert_string_equal(unwind_text(python), "C01LC2LCE");
	python->world->start.thread_pointer = 0;
	assert_string_equal(unwind_text(python), "C!LCLCE");
}

static void a_broken_chain_leaves_the_native_frames(void **state)
{
	struct python *python = *state;

	use_chain(python, PYTHON_CURRENT_FRAME);
	lay_two_loops(python);
	put(python, frame_at(0) + FRAME_PREVIOUS, 0xdead0000);
	assert_string_equal(unwind_text(python), "C0!LCLCE");
	assert_int_equal(python->world->trace.interpreter_error, UNWIND_INTERPRETER_FRAMES);
	put(python, frame_at(0) + FRAME_PREVIOUS, 0);
	assert_string_equal(unwind_text(python), "C0!LCLCE");
	put(python, frame_at(0) + FRAME_PREVIOUS, ~0ULL);
	assert_string_equal(unwind_text(python), "C0!LCLCE");
	set_current(python, HEAP_START + sizeof(python->heap) - 16);
	assert_string_equal(unwind_text(python), "C!LCLCE");
}

static void a_ring_of_frames_ends_when_the_record_is_full(void **state)
{
	struct python *python = *state;
	uint32_t length;

	use_chain(python, PYTHON_CURRENT_FRAME);
	lay_two_loops(python);
	add_frame(python, 1, frame_at(0));
	length = strlen(unwind_text(python));
	assert_int_equal(python->world->trace.error, UNWIND_TRUNCATED);
	assert_true(length > USER_FRAMES_MAX);
	assert_int_equal(python->text[length - 1], 'X');
	/* A cycle of frames without functions, and one of cframes. */
	add_loop_frame(python, 0, loop_frame_at(0));
	set_current(python, loop_frame_at(0));
	assert_string_equal(unwind_text(python), "CLX");
	assert_int_equal(python->world->trace.error, UNWIND_TRUNCATED);
	use_chain(python, PYTHON_CFRAME);
	set_cframe(python, add_cframe(python, stack_address(0), 0, stack_address(0)));
	assert_string_equal(unwind_text(python), "CLX");
	assert_int_equal(python->world->trace.error, UNWIND_TRUNCATED);
}

static void code_that_cannot_be_read_has_no_fingerprint(void **state)
{
	struct python *python = *state;
	const uint64_t *words = python->world->trace.words;

	use_chain(python, PYTHON_CURRENT_FRAME);
	lay_two_loops(python);
	put(python, frame_at(0) + FRAME_CODE, 0xdead0000);
	unwind_text(python);
	assert_int_equal(words[2], frame_word(FRAME_PYTHON, 0, 0xdead0000));
	assert_int_equal((uint32_t)words[3], 0);
	assert_int_not_equal((uint32_t)words[5], 0);
}

static void the_name_s_hash_is_part_of_the_fingerprint(void **state)
{
	struct python *python = *state;
	const uint64_t *words = python->world->trace.words;
	uint64_t name = HEAP_START + 0x60000;
	uint32_t fingerprint;

	use_chain(python, PYTHON_CURRENT_FRAME);
	python->process.code_name = CODE_NAME - CODE_CONSTS;
	python->process.name_hash = NAME_HASH;
	publish(python);
	lay_two_loops(python);
	put(python, python_code_at(0) + CODE_NAME, name);
	put(python, name + NAME_HASH, 0x1234567812345678);
	unwind_text(python);
	fingerprint = words[3];
	assert_int_not_equal(fingerprint, 0);
	put(python, name + NAME_HASH, 0x1234567812345679);
	unwind_text(python);
	assert_int_not_equal(fingerprint, (uint32_t)words[3]);
	assert_int_not_equal((uint32_t)words[3], 0);
	put(python, python_code_at(0) + CODE_NAME, 0xdead0000);
	unwind_text(python);
	assert_int_equal((uint32_t)words[3], 0);
}

static void data_that_is_nonsense_ends_the_python_frames(void **state)
{
	struct python *python = *state;

	use_chain(python, PYTHON_CURRENT_FRAME);
	lay_two_loops(python);
	python->process.frame_bytes = PYTHON_READ_MAX_BYTES + 1;
	publish(python);
	assert_string_equal(unwind_text(python), "C!LCLCE");
	python->process.frame_bytes = 0;
	publish(python);
	assert_string_equal(unwind_text(python), "C!LCLCE");
	python->process.frame_bytes = FRAME_BYTES;
	python->process.chain = 9;
	publish(python);
	assert_string_equal(unwind_text(python), "C!LCLCE");
	/* Data behind the last slab. */
	world_put(python->world, INTERPRETER_CELL,
		  &(struct runtime_row){ EXECUTABLE_ID, FRAME_PYTHON, UINT32_MAX },
		  sizeof(struct runtime_row));
	assert_string_equal(unwind_text(python), "C!LCLCE");
	/* A language that has no unwinder. */
	world_put(python->world, INTERPRETER_CELL,
		  &(struct runtime_row){ EXECUTABLE_ID, FRAME_KERNEL - 1, DATA_CELL },
		  sizeof(struct runtime_row));
	assert_string_equal(unwind_text(python), "CLX");
}

static void many_frames_come_whole(void **state)
{
	struct python *python = *state;
	uint64_t frame = 0;
	uint32_t words[100];

	use_chain(python, PYTHON_CURRENT_FRAME);
	/* 200 native frames, in turn C and the loop, that run 3 frames each. */
	for (int i = 0; i < 100; i++) {
		add_native(python, RULE_C);
		words[i] = add_native(python, RULE_OF_LOOP);
	}
	add_native(python, RULE_END);
	for (int i = 99; i >= 0; i--) {
		frame = add_loop_frame(python, words[i], frame);
		for (int j = 2; j >= 0; j--) {
			uint64_t caller = frame;

			frame = frame_at(3 * i + j);
			put(python, frame + FRAME_PREVIOUS, caller);
			put(python, frame + FRAME_CODE, python_code_at(j));
		}
	}
	set_current(python, frame);
	unwind_text(python);
	assert_int_equal(strlen(python->text), 501);
	for (int i = 0; i < 100; i++)
		assert_memory_equal(python->text + 5 * i, "C012L", 5);
	assert_int_equal(python->world->trace.error, UNWIND_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		python_test(a_current_frame_leads_through_the_loops),
		python_test(without_the_process_s_table_loops_are_native),
		python_test(a_loop_that_has_pushed_nothing_yet_runs_nothing),
		python_test(the_first_loop_of_a_thread_may_have_no_frames_at_all),
		python_test(the_outermost_frame_may_run_python),
		python_test(frames_of_a_native_frame_that_the_unwind_missed_are_not_lost),
		python_test(tags_hidden_code_and_bytecode_of_a_thread),
		python_test(cframes_part_the_frames),
		python_test(cframes_part_the_frames_with_owners),
		python_test(a_cframe_of_a_missed_loop_and_one_without_frames),
		python_test(a_cframe_without_words_yet_leads_to_the_next_one_by_its_address),
		python_test(a_broken_chain_of_a_cframe_costs_its_frames_only),
		python_test(each_loop_runs_one_frame_object),
		python_test(code_that_has_not_pushed_its_frame_object_is_known),
		python_test(cframes_tell_which_loop_has_a_frame_object),
		python_test(the_thread_s_path_may_be_long_or_the_second),
		python_test(a_broken_chain_leaves_the_native_frames),
		python_test(a_ring_of_frames_ends_when_the_record_is_full),
		python_test(code_that_cannot_be_read_has_no_fingerprint),
		python_test(the_name_s_hash_is_part_of_the_fingerprint),
		python_test(data_that_is_nonsense_ends_the_python_frames),
		python_test(many_frames_come_whole),
		python_test(a_copied_stack_begins_where_the_frames_are_used_up),
		python_test(above_a_copied_stack_may_be_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
