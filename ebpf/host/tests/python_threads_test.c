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

static uint64_t interpreter_at(uint32_t index)
{
	return HEAP_START + 0x800 + 0x40ULL * index;
}

/* State 0 is the one that the slot tells. */
static uint64_t thread_at(uint32_t index)
{
	return THREAD_STATE + 0x80ULL * index;
}

/* Interpreter @index with that thread state of @id, in front of those that there are. */
static void add_interpreter(struct python *python, uint32_t index, uint64_t id, uint64_t next)
{
	put(python, INTERPRETERS, interpreter_at(index));
	put(python, interpreter_at(index) + INTERPRETER_NEXT, next);
	put(python, interpreter_at(index) + INTERPRETER_THREADS, thread_at(index));
	put(python, thread_at(index) + THREAD_NEXT, 0);
	put(python, thread_at(index) + THREAD_INTERPRETER, interpreter_at(index));
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
	add_interpreter(python, 0, THIS_THREAD, 0);
	add_interpreter(python, 1, THIS_THREAD, interpreter_at(0));
}

/* Four loops, C below each but the leaf, and their first words, innermost first. */
static void add_loops(struct python *python, uint32_t loops[4])
{
	add_native(python, RULE_C);
	for (int i = 0; i < 4; i++)
		loops[i] = add_native(python, RULE_LOOP);
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
	assert_string_equal(walk_text(python), "C0L1L2L3LE");
	assert_int_equal(python->world->trace.interpreter_error, UNWIND_OK);
	/* The other one is another thread's. */
	put(python, thread_at(1) + THREAD_ID, OTHER_THREAD);
	assert_string_equal(walk_text(python), "C0L1LLLE");
	put(python, thread_at(1) + THREAD_ID, THIS_THREAD);
	/* Nobody knows where interpreters are listed. */
	python->process.interpreters = 0;
	publish(python);
	assert_string_equal(walk_text(python), "C0L1LLLE");
}

static void the_slot_may_be_that_of_the_outer_interpreter(void **state)
{
	struct python *python = *state;

	use_interpreters(python, PYTHON_CURRENT_FRAME);
	lay_loops(python, 0, false);
	assert_string_equal(walk_text(python), "C0L1L2L3LE");
}

static void interpreters_may_call_each_other(void **state)
{
	struct python *python = *state;

	use_interpreters(python, PYTHON_CURRENT_FRAME);
	lay_loops(python, 0, true);
	assert_string_equal(walk_text(python), "C0L1L2L3LE");
}

static void frames_on_another_stack_are_not_taken(void **state)
{
	struct python *python = *state;
	uint64_t far = HEAP_START + 0x9000;

	use_interpreters(python, PYTHON_CURRENT_FRAME);
	lay_loops(python, 1, false);
	/* Of a thread that had this one's id before it. */
	put(python, far + FRAME_PREVIOUS, 0);
	put(python, far + FRAME_OWNER - 6, (uint64_t)OWNER_LOOP << 48);
	put(python, thread_at(1) + THREAD_FRAME, add_frame(python, 5, far));
	assert_string_equal(walk_text(python), "C0L1LLLE");
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

		/* What ends the frames of a cframe is the first one of the next. */
		if (i == 0)
			before = frame_at(3);
		if (i == 1)
			before = frame_at(2);
		*chain = add_cframe(python, stack_address(loops[i] + ENTRY_WORD),
				    add_frame(python, i, before), *chain);
	}
	put(python, thread_at(0) + THREAD_CFRAME, chains[0]);
	put(python, thread_at(1) + THREAD_CFRAME, chains[1]);
	assert_string_equal(walk_text(python), "C0L1L2L3LE");
	put(python, thread_at(1) + THREAD_ID, OTHER_THREAD);
	assert_string_equal(walk_text(python), "C0LLL3LE");
}

static void frame_objects_of_the_slot_are_further_out(void **state)
{
	struct python *python = *state;
	uint32_t loops[4];

	use_interpreters(python, PYTHON_FRAME_OBJECTS);
	add_loops(python, loops);
	put(python, thread_at(0) + THREAD_FRAME, add_frames(python, 2, 3, 0));
	put(python, thread_at(1) + THREAD_FRAME, add_frames(python, 0, 1, 0));
	assert_string_equal(walk_text(python), "C0L1L2L3LE");
	/* An interpreter that runs nothing now. */
	put(python, thread_at(1) + THREAD_FRAME, 0);
	assert_string_equal(walk_text(python), "C2L3L!LLE");
	/* Whose turn it is of three nothing tells. */
	put(python, thread_at(1) + THREAD_FRAME, frame_at(0));
	add_interpreter(python, 2, THIS_THREAD, interpreter_at(1));
	put(python, thread_at(2) + THREAD_FRAME, frame_at(0));
	assert_string_equal(walk_text(python), "C!LLLLE");
}

static void lists_without_end_cost_the_frames_only(void **state)
{
	struct python *python = *state;

	use_interpreters(python, PYTHON_CURRENT_FRAME);
	lay_loops(python, 1, false);
	put(python, thread_at(1) + THREAD_ID, OTHER_THREAD);
	put(python, thread_at(1) + THREAD_NEXT, thread_at(1));
	assert_string_equal(walk_text(python), "C0L1L!L!LE");
	put(python, thread_at(1) + THREAD_NEXT, 0);
	put(python, interpreter_at(0) + INTERPRETER_NEXT, interpreter_at(1));
	assert_string_equal(walk_text(python), "C0L1L!L!LE");
	/* One that cannot be read ends the list. */
	put(python, INTERPRETERS, 8);
	assert_string_equal(walk_text(python), "C0L1LLLE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		python_test(the_slot_may_be_that_of_the_inner_interpreter),
		python_test(the_slot_may_be_that_of_the_outer_interpreter),
		python_test(interpreters_may_call_each_other),
		python_test(frames_on_another_stack_are_not_taken),
		python_test(cframes_tell_the_thread_state),
		python_test(frame_objects_of_the_slot_are_further_out),
		python_test(lists_without_end_cost_the_frames_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
