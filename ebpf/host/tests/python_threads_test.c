// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* A thread that runs two interpreters: frames of both thread states, each at its native frame. */
#include "ebpf/host/tests/python_fixture.h"

enum {
	INTERPRETER_NEXT = 16,
	INTERPRETER_THREADS = 24,
	THREAD_NEXT = 8,
	THREAD_INTERPRETER = 16,
	THREAD_ID = 24,
	THIS_THREAD = 1234,
	OTHER_THREAD = 1235,
};

#define INTERPRETERS (HEAP_START + 0x7f8)

static uint64_t language_at(uint32_t index)
{
	return HEAP_START + 0x800 + 0x40ULL * index;
}

/* State 0 is the one in the slot. */
static uint64_t thread_at(uint32_t index)
{
	return THREAD_STATE + 0x80ULL * index;
}

/* Adds interpreter @index with that thread state of thread @id, in front of the others. */
static void add_runtime(struct python *python, uint32_t index, uint64_t id, uint64_t next)
{
	put(python, INTERPRETERS, language_at(index));
	put(python, language_at(index) + INTERPRETER_NEXT, next);
	put(python, language_at(index) + INTERPRETER_THREADS, thread_at(index));
	put(python, thread_at(index) + THREAD_NEXT, 0);
	put(python, thread_at(index) + THREAD_INTERPRETER, language_at(index));
	put(python, thread_at(index) + THREAD_ID, id);
}

static void use_interpreters(struct python *python, enum python_chain chain)
{
	use_chain(python, chain);
	python->process.interpreters = INTERPRETERS;
	python->process.interpreter_next = INTERPRETER_NEXT;
	python->process.interpreter_threads = INTERPRETER_THREADS;
	python->process.thread_next = THREAD_NEXT;
	python->process.thread_interpreter = THREAD_INTERPRETER;
	python->process.thread_id = THREAD_ID;
	publish(python);
	add_runtime(python, 0, THIS_THREAD, 0);
	add_runtime(python, 1, THIS_THREAD, language_at(0));
}

/* Four loops, C below each but the leaf, and their first words, innermost first. */
static void add_loops(struct python *python, uint32_t loops[4])
{
	add_native(python, RULE_C);
	for (int i = 0; i < 4; i++)
		loops[i] = add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_END);
}

/* Frames 0 and 3 are of thread state @outer, 1 and 2 of the other one, if @in_turns; else 2 and 3. */
static void lay_loops(struct python *python, uint32_t outer, bool in_turns)
{
	static const uint8_t owners[2][4] = { { 1, 1, 0, 0 }, { 0, 1, 1, 0 } };
	uint64_t frames[2] = { 0, 0 };
	uint32_t loops[4];

	add_loops(python, loops);
	for (int i = 4; i-- > 0;) {
		uint64_t *frame = &frames[owners[in_turns][i]];

		*frame = add_loop_frame(python, loops[i], *frame);
		*frame = add_frame(python, i, *frame);
	}
	put(python, thread_at(outer) + THREAD_FRAME, frames[0]);
	put(python, thread_at(!outer) + THREAD_FRAME, frames[1]);
}

static void the_slot_may_be_that_of_the_inner_interpreter(void **state)
{
	struct python *python = *state;

	use_interpreters(python, PYTHON_CURRENT_FRAME);
	lay_loops(python, 1, false);
	assert_string_equal(unwind_text(python), "C0L1L2L3LE");
	assert_int_equal(python->world->trace.interpreter_error, UNWIND_OK);
	/* The other one is another thread's. */
	put(python, thread_at(1) + THREAD_ID, OTHER_THREAD);
	assert_string_equal(unwind_text(python), "C0L1LLLE");
	put(python, thread_at(1) + THREAD_ID, THIS_THREAD);
	/* Nobody knows where interpreters are listed. */
	python->process.interpreters = 0;
	publish(python);
	assert_string_equal(unwind_text(python), "C0L1LLLE");
}

static void the_slot_may_be_that_of_the_outer_interpreter(void **state)
{
	struct python *python = *state;

	use_interpreters(python, PYTHON_CURRENT_FRAME);
	lay_loops(python, 0, false);
	assert_string_equal(unwind_text(python), "C0L1L2L3LE");
}

static void interpreters_may_call_each_other(void **state)
{
	struct python *python = *state;

	use_interpreters(python, PYTHON_CURRENT_FRAME);
	lay_loops(python, 0, true);
	assert_string_equal(unwind_text(python), "C0L1L2L3LE");
}

static void frames_on_another_stack_are_not_taken(void **state)
{
	struct python *python = *state;
	uint64_t far = HEAP_START + 0x9000;

	use_interpreters(python, PYTHON_CURRENT_FRAME);
	lay_loops(python, 1, false);
	/* The frames of a thread that had this one's id before it. */
	put(python, far + FRAME_PREVIOUS, 0);
	put(python, far + FRAME_OWNER - 6, (uint64_t)OWNER_LOOP << 48);
	put(python, thread_at(1) + THREAD_FRAME, add_frame(python, 5, far));
	assert_string_equal(unwind_text(python), "C0L1LLLE");
}

static void cframes_tell_the_thread_state(void **state)
{
	struct python *python = *state;
	uint64_t chains[2];
	uint32_t loops[4];

	use_interpreters(python, PYTHON_CFRAME);
	add_loops(python, loops);
	for (int owner = 0; owner < 2; owner++)
		chains[owner] = add_cframe(python, thread_at(owner) + 0x60, 0, 0);
	for (int i = 4; i-- > 0;) {
		uint64_t *chain = &chains[i == 1 || i == 2], before = 0;

		/* The frames of a cframe end at the first frame of the next one. */
		if (i == 0)
			before = frame_at(3);
		if (i == 1)
			before = frame_at(2);
		*chain = add_cframe(python, stack_address(loops[i] + ENTRY_WORD),
				    add_frame(python, i, before), *chain);
	}
	put(python, thread_at(0) + THREAD_CFRAME, chains[0]);
	put(python, thread_at(1) + THREAD_CFRAME, chains[1]);
	assert_string_equal(unwind_text(python), "C0L1L2L3LE");
	/* Nobody knows where interpreters are listed. */
	python->process.interpreters = 0;
	publish(python);
	assert_string_equal(unwind_text(python), "C0LLL3LE");
}

/* Words of a native frame of the loop, for a variable and for a saved register. */
enum { VARIABLE_WORD = 5, SAVED_WORD = 14, SAVED_BYTES = 16, LOOK_MAX_BYTES = 16384 };

static void keep(struct python *python, uint32_t word, uint64_t value)
{
	put(python, stack_address(word), value);
}

/* Frames 0 and 2 of the other interpreter, 1 and 3 of the slot's, each kept by its loop. */
static void lay_objects(struct python *python, uint32_t loops[4])
{
	use_interpreters(python, PYTHON_FRAME_OBJECTS);
	python->process.saved_bytes = SAVED_BYTES;
	publish(python);
	add_loops(python, loops);
	put(python, thread_at(0) + THREAD_FRAME, add_frame(python, 1, add_frame(python, 3, 0)));
	put(python, thread_at(1) + THREAD_FRAME, add_frame(python, 0, add_frame(python, 2, 0)));
	for (uint32_t i = 0; i < 4; i++)
		keep(python, loops[i] + VARIABLE_WORD, frame_at(i));
}

static void frame_objects_are_those_that_their_loops_keep(void **state)
{
	struct python *python = *state;
	uint32_t loops[4];

	lay_objects(python, loops);
	assert_string_equal(unwind_text(python), "C0L1L2L3LE");
	assert_int_equal(python->world->trace.interpreter_error, UNWIND_OK);
	/* The innermost one is of the slot's own interpreter. */
	put(python, thread_at(0) + THREAD_FRAME, add_frame(python, 0, add_frame(python, 3, 0)));
	put(python, thread_at(1) + THREAD_FRAME, add_frame(python, 1, add_frame(python, 2, 0)));
	assert_string_equal(unwind_text(python), "C0L1L2L3LE");
	/* Two frames of one chain, one behind the other. */
	put(python, thread_at(0) + THREAD_FRAME, add_frames(python, 2, 3, 0));
	put(python, thread_at(1) + THREAD_FRAME, add_frames(python, 0, 1, 0));
	assert_string_equal(unwind_text(python), "C0L1L2L3LE");
	/* Nobody knows where interpreters are listed. */
	python->process.interpreters = 0;
	publish(python);
	assert_string_equal(unwind_text(python), "C2L3L!LLE");
}

static void frame_objects_that_no_loop_keeps_are_missing(void **state)
{
	struct python *python = *state;
	uint32_t loops[4];

	lay_objects(python, loops);
	keep(python, loops[1] + VARIABLE_WORD, 0);
	assert_string_equal(unwind_text(python), "C0L!LLLE");
	assert_int_equal(python->world->trace.interpreter_error, UNWIND_INTERPRETER_FRAMES);
	/* A frame that is found twice is accepted; two frames cannot be distinguished. */
	keep(python, loops[1] + VARIABLE_WORD, frame_at(1));
	keep(python, loops[1] + VARIABLE_WORD + 1, frame_at(1));
	assert_string_equal(unwind_text(python), "C0L1L2L3LE");
	keep(python, loops[1] + VARIABLE_WORD + 1, frame_at(2));
	assert_string_equal(unwind_text(python), "C0L!LLLE");
	/* The thread's own interpreter is the only one. */
	put(python, INTERPRETERS, language_at(0));
	assert_string_equal(unwind_text(python), "C1L3L!LLE");
}

static void registers_that_a_loop_saves_are_its_caller_s(void **state)
{
	struct python *python = *state;
	uint32_t loops[4];

	lay_objects(python, loops);
	/* Loop 1 has its own frame in a register, which loop 0 saved; C has saved that of 0. */
	keep(python, loops[1] + VARIABLE_WORD, 0);
	keep(python, loops[0] + SAVED_WORD, frame_at(1));
	keep(python, loops[0] + VARIABLE_WORD, 0);
	keep(python, loops[0] - 2, frame_at(0));
	assert_string_equal(unwind_text(python), "C0L1L2L3LE");
	/* It is not known where the loop saves registers: neither is left out. */
	python->process.saved_bytes = 0;
	publish(python);
	assert_string_equal(unwind_text(python), "C!LLLLE");
	keep(python, loops[0] + SAVED_WORD, 0);
	keep(python, loops[1] + VARIABLE_WORD, frame_at(1));
	assert_string_equal(unwind_text(python), "C0L1L2L3LE");
	/* Words above the next loop's stack range are not searched. */
	keep(python, loops[1] - 1, code_at(RULE_OF_LOOP));
	keep(python, loops[2], frame_at(3));
	assert_string_equal(unwind_text(python), "C0L1L!LLE");
}

static void functions_that_were_interrupted_have_registers(void **state)
{
	struct python *python = *state;
	uint32_t loops[4];

	lay_objects(python, loops);
	keep(python, loops[0] + VARIABLE_WORD, 0);
	python->world->start.registers[12] = frame_at(0);
	assert_string_equal(unwind_text(python), "C0L1L2L3LE");
	/* This register is not callee-saved. */
	python->world->start.registers[12] = 0;
	python->world->start.registers[8] = frame_at(0);
	assert_string_equal(unwind_text(python), "C!LLLLE");
	/* The registers are those of the innermost loop, and are not used for the others. */
	keep(python, loops[0] + VARIABLE_WORD, frame_at(0));
	keep(python, loops[2] + VARIABLE_WORD, 0);
	python->world->start.registers[12] = frame_at(2);
	assert_string_equal(unwind_text(python), "C0L1L!LLE");
	keep(python, loops[1] + VARIABLE_WORD, 0);
	python->world->start.registers[12] = frame_at(1);
	assert_string_equal(unwind_text(python), "C!LLLLE");
}

static void loops_that_are_too_far_apart_have_no_frames(void **state)
{
	struct python *python = *state;
	uint32_t outer;

	use_interpreters(python, PYTHON_FRAME_OBJECTS);
	add_native(python, RULE_C);
	for (uint32_t bytes = 0; bytes < LOOK_MAX_BYTES - 8 * LOOP_WORDS; bytes += 8 * C_WORDS)
		add_native(python, RULE_C);
	outer = add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_END);
	keep(python, outer + VARIABLE_WORD, frame_at(0));
	put(python, thread_at(1) + THREAD_FRAME, add_frame(python, 0, 0));
	assert_non_null(strstr(unwind_text(python), "CC!LE"));
	/* With one function less. */
	world_set_registers(python->world, code_at(RULE_C), stack_address(100 + C_WORDS), 0);
	assert_non_null(strstr(unwind_text(python), "CC0LE"));
}

static void thread_states_may_be_lent_to_other_threads(void **state)
{
	struct python *python = *state;
	uint64_t root = thread_at(1) + 0x60, cframe;
	uint32_t loops[4];

	lay_objects(python, loops);
	put(python, thread_at(1) + THREAD_ID, OTHER_THREAD);
	assert_string_equal(unwind_text(python), "C0L1L2L3LE");
	/* While it runs there its frames are on another stack. */
	for (int i = 0; i < 4; i++)
		keep(python, loops[i] + VARIABLE_WORD, 0);
	keep(python, loops[0] + VARIABLE_WORD, frame_at(1));
	keep(python, loops[1] + VARIABLE_WORD, frame_at(3));
	assert_string_equal(unwind_text(python), "C1L3L!LLE");

	use_interpreters(python, PYTHON_CFRAME);
	put(python, thread_at(1) + THREAD_ID, OTHER_THREAD);
	put(python, thread_at(0) + THREAD_CFRAME, add_cframe(python, root + 0x20, 0, 0));
	cframe = add_cframe(python, stack_address(loops[1] + ENTRY_WORD), add_frame(python, 1, 0),
			    add_cframe(python, root, 0, 0));
	put(python, thread_at(1) + THREAD_CFRAME, cframe);
	assert_string_equal(unwind_text(python), "CL1LLLE");
}

/* A loop that was interrupted has no cframe, but has its frame object for some instructions. */
static void a_loop_without_its_cframe_may_be_of_either_interpreter(void **state)
{
	struct python *python = *state;
	uint64_t roots[2], outer = 0;
	uint32_t inner, next;

	use_interpreters(python, PYTHON_FRAME_OBJECTS_CFRAME);
	python->process.saved_bytes = SAVED_BYTES;
	python->process.unpushed[0] = (struct python_code_range){ 1, 2 };
	publish(python);
	inner = add_native(python, RULE_OF_LOOP);
	next = add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_END);
	for (int owner = 0; owner < 2; owner++)
		roots[owner] = add_cframe(python, thread_at(owner) + 0x60, 0, 0);
	outer = add_cframe(python, stack_address(next + ENTRY_WORD), 0, roots[0]);
	put(python, thread_at(0) + THREAD_CFRAME, outer);
	put(python, thread_at(1) + THREAD_CFRAME, roots[1]);
	put(python, thread_at(0) + THREAD_FRAME, add_frame(python, 1, 0));
	put(python, thread_at(1) + THREAD_FRAME, add_frame(python, 0, 0));
	keep(python, inner + VARIABLE_WORD, frame_at(0));
	assert_string_equal(unwind_text(python), "0L1LE");
	keep(python, inner + VARIABLE_WORD, 0);
	assert_string_equal(unwind_text(python), "!LLE");
	/* A frame of the slot's thread state. */
	put(python, thread_at(0) + THREAD_FRAME, add_frames(python, 2, 3, 0));
	keep(python, inner + VARIABLE_WORD, frame_at(2));
	assert_string_equal(unwind_text(python), "2L3LE");
	/* Before it has pushed anything. */
	python->process.unpushed[0] =
		(struct python_code_range){ TEXT_ADDRESS + RULE_OF_LOOP * 16,
					    TEXT_ADDRESS + RULE_OF_LOOP * 16 + 16 };
	publish(python);
	put(python, thread_at(0) + THREAD_FRAME, frame_at(1));
	assert_string_equal(unwind_text(python), "LLE");
}

/* A fork has made its slot again, at another address than its parent's. */
static void a_thread_with_an_empty_slot_is_known_by_its_id(void **state)
{
	struct python *python = *state;
#if defined(__x86_64__)
	const bool is_known = true;
#else
	/* Its id is not the thread pointer (ebpf/architecture.bpf.h). */
	const bool is_known = false;
#endif

	use_interpreters(python, PYTHON_CURRENT_FRAME);
	lay_loops(python, 0, true);
	python->thread[2] = 0;
	put(python, thread_at(0) + THREAD_ID, OTHER_THREAD);
	put(python, thread_at(1) + THREAD_ID, THREAD_POINTER);
	assert_string_equal(unwind_text(python), is_known ? "CL1L2LLE" : "C!LLLLE");
	/* The thread has the states of both interpreters. */
	put(python, thread_at(0) + THREAD_ID, THREAD_POINTER);
	assert_string_equal(unwind_text(python), is_known ? "C0L1L2L3LE" : "C!LLLLE");
	/* The thread has neither state, or one that cannot be read. */
	put(python, thread_at(0) + THREAD_ID, OTHER_THREAD);
	put(python, thread_at(1) + THREAD_ID, OTHER_THREAD);
	assert_string_equal(unwind_text(python), "C!LLLLE");
	assert_int_equal(python->world->trace.interpreter_error, UNWIND_INTERPRETER_THREAD);
	put(python, language_at(1) + INTERPRETER_THREADS, 8);
	assert_string_equal(unwind_text(python), "C!LLLLE");
	put(python, INTERPRETERS, 8);
	assert_string_equal(unwind_text(python), "C!LLLLE");

	use_interpreters(python, PYTHON_FRAME_OBJECTS);
	put(python, INTERPRETERS, language_at(0));
	put(python, thread_at(0) + THREAD_ID, THREAD_POINTER);
	put(python, thread_at(0) + THREAD_FRAME, add_frames(python, 0, 3, 0));
	assert_string_equal(unwind_text(python), is_known ? "C0L1L2L3LE" : "C!LLLLE");
}

static void lists_without_end_cost_the_frames_only(void **state)
{
	struct python *python = *state;

	use_interpreters(python, PYTHON_CURRENT_FRAME);
	lay_loops(python, 1, false);
	put(python, thread_at(1) + THREAD_ID, OTHER_THREAD);
	put(python, thread_at(1) + THREAD_NEXT, thread_at(1));
	assert_string_equal(unwind_text(python), "C0L1L!L!LE");
	put(python, thread_at(1) + THREAD_NEXT, 0);
	put(python, language_at(0) + INTERPRETER_NEXT, language_at(1));
	assert_string_equal(unwind_text(python), "C0L1L!L!LE");
	/* One that cannot be read ends the list. */
	put(python, INTERPRETERS, 8);
	assert_string_equal(unwind_text(python), "C0L1LLLE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		python_test(the_slot_may_be_that_of_the_inner_interpreter),
		python_test(the_slot_may_be_that_of_the_outer_interpreter),
		python_test(interpreters_may_call_each_other),
		python_test(frames_on_another_stack_are_not_taken),
		python_test(cframes_tell_the_thread_state),
		python_test(frame_objects_are_those_that_their_loops_keep),
		python_test(frame_objects_that_no_loop_keeps_are_missing),
		python_test(registers_that_a_loop_saves_are_its_caller_s),
		python_test(functions_that_were_interrupted_have_registers),
		python_test(loops_that_are_too_far_apart_have_no_frames),
		python_test(thread_states_may_be_lent_to_other_threads),
		python_test(a_loop_without_its_cframe_may_be_of_either_interpreter),
		python_test(a_thread_with_an_empty_slot_is_known_by_its_id),
		python_test(lists_without_end_cost_the_frames_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
