/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/history_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/model/process_info.h"
#include "viewer/tests/samples.h"

enum { BINARIES = 3, DEPTH_MAX = 60, PROCESSES = 4 };

static struct binary *binaries[BINARIES];
static struct process_info *processes[PROCESSES];

static int make_files(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < BINARIES; i++)
		binaries[i] = binary_create(
			&(struct binary){ .executable_id = i + 1, .fd = -1, .path = "/opt/prog" });
	for (uint32_t i = 0; i < PROCESSES; i++)
		processes[i] = process_info_create(
			&(struct process_info){ .pid = i + 1, .container_id = i ? "c0ffee" : "" });
	return 0;
}

static int drop_files(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < BINARIES; i++) {
		assert_int_equal(binaries[i]->references, 1);
		binary_unref(binaries[i]);
	}
	for (uint32_t i = 0; i < PROCESSES; i++) {
		assert_int_equal(processes[i]->references, 1);
		process_info_unref(processes[i]);
	}
	return 0;
}

/* Up to @limit, which is excluded; mostly small numbers. */
static uint32_t skewed(uint32_t limit)
{
	return (uint32_t)((uint64_t)(rand() % limit) * (uint64_t)(rand() % limit) / limit);
}

/* A frame with any values in its fields; native ones are most frequent. */
static struct frame random_frame(void)
{
	static const char *const texts[] = { NULL, "", "f", "g", "a_longer_name::of(a function)" };
	static const uint64_t addresses[] = { 0,	  1,
					      0x7f,	  0xffffffffffff,
					      UINT64_MAX, UINT64_C(1) << 48 };
	struct frame frame = {
		.kind = FRAME_NATIVE,
		.flags = rand() % 2 ? FRAME_RETURN_ADDRESS : 0,
		.address = 0x400000 + skewed(1000),
		.binary = binaries[skewed(BINARIES)],
	};

	if (rand() % 4)
		return frame;
	frame.kind = (uint8_t)(rand() % 2 ? FRAME_KERNEL : FRAME_PYTHON);
	frame.function = texts[rand() % 5];
	frame.file = texts[rand() % 5];
	frame.line = skewed(1000);
	frame.column = skewed(100);
	frame.start_line = skewed(10);
	frame.binary = rand() % 2 ? NULL : frame.binary;
	frame.address = addresses[rand() % 6];
	frame.flags = (uint8_t)(rand() % 8);
	if (rand() % 8 == 0)
		frame = (struct frame){ .kind = FRAME_ERROR, .error = (uint8_t)(1 + rand() % 5) };
	return frame;
}

/* Many stacks begin like the last one. Not all have frames. */
static struct trace *random_trace(void)
{
	static struct frame outermost_first[DEPTH_MAX];
	struct frame frames[DEPTH_MAX];
	uint32_t count = (uint32_t)rand() % DEPTH_MAX, same = (uint32_t)rand() % DEPTH_MAX;

	for (uint32_t i = same; i < DEPTH_MAX; i++)
		outermost_first[i] = random_frame();
	for (uint32_t i = 0; i < count; i++)
		frames[count - 1 - i] = outermost_first[i];
	return trace_create(frames, count, rand() % 2, rand() % 2);
}

static void assert_text_equal(const char *one, const char *other)
{
	assert_int_equal(!one, !other);
	if (one)
		assert_string_equal(one, other);
}

static void assert_frames_equal(const struct frame *one, const struct frame *other)
{
	assert_int_equal(one->kind, other->kind);
	assert_int_equal(one->flags, other->flags);
	assert_int_equal(one->error, other->error);
	assert_int_equal(one->line, other->line);
	assert_int_equal(one->column, other->column);
	assert_int_equal(one->start_line, other->start_line);
	assert_true(one->address == other->address);
	assert_ptr_equal(one->binary, other->binary);
	assert_text_equal(one->function, other->function);
	assert_text_equal(one->file, other->file);
}

static void assert_key_has(const struct history_keys *keys, uint32_t id,
			   const struct sample *sample)
{
	struct history_keys_snapshot snapshot;
	const struct trace *trace = sample->trace;
	struct key_stack stack = { 0 };
	const struct sample *found;
	struct trace *copy;

	assert_int_equal(history_keys_snapshot_init(&snapshot, keys), 0);
	assert_in_range(id, 0, snapshot.limit - 1);
	found = history_key_sample(&snapshot, id);
	assert_int_equal(found->pid, sample->pid);
	assert_int_equal(found->tid, sample->tid);
	assert_int_equal(found->cpu, SAMPLE_NO_NUMBER);
	assert_string_equal(found->process_comm, sample->process_comm);
	assert_string_equal(found->thread_comm, sample->thread_comm);
	assert_int_equal(found->origin, sample->origin);
	assert_true(process_info_equal(found->process, sample->process));
	assert_true(label_sets_equal(found->labels, sample->labels));
	assert_int_equal(history_key_stack(&snapshot, id, &stack), 0);
	assert_int_equal(stack.frames.count, trace->frame_count);
	for (uint32_t i = 0; i < trace->frame_count; i++) {
		struct frame frame = trace_frame(trace, trace->frame_count - 1 - i);

		assert_frames_equal(&stack.frames.items[i], &frame);
	}
	assert_int_equal(stack.is_complete, trace->is_complete);
	assert_int_equal(history_key_is_complete(&snapshot, id), trace->is_complete);
	assert_int_equal(stack.is_kernel_thread, trace->is_kernel_thread);
	assert_int_equal(stack.has_guess, trace->has_guess);
	copy = history_key_trace(&snapshot, id);
	assert_true(traces_equal(copy, trace));
	assert_int_equal(copy->error_mask, trace->error_mask);
	trace_unref(copy);
	key_stack_deinit(&stack);
	history_keys_snapshot_deinit(&snapshot);
}

static struct sample random_sample(struct label_set *labels)
{
	static const char *const comms[] = { "prog", "other", "" };
	uint32_t process = skewed(PROCESSES + 1);

	*labels = (struct label_set){ .task_id = skewed(50), .task_language = FRAME_PYTHON };
	return (struct sample){
		.trace = random_trace(),
		.process = process < PROCESSES ? processes[process] : NULL,
		.labels = rand() % 4 ? NULL : labels,
		.process_comm = comms[skewed(3)],
		.thread_comm = comms[skewed(3)],
		.pid = process + 1,
		.tid = process + skewed(3),
		.cpu = (uint32_t)rand() % 4,
		.origin = (uint8_t)(rand() % 2),
	};
}

struct added {
	struct sample sample;
	struct label_set labels;
	uint32_t id;
};

static void assert_is_empty(const struct history_keys *keys)
{
	assert_int_equal(keys->keys.pool.count, 0);
	assert_int_equal(keys->callers.pool.count, 0);
	assert_int_equal(keys->shapes.pool.count, 0);
	assert_int_equal(keys->keys.pool.bytes, 0);
	assert_int_equal(keys->callers.pool.bytes, 0);
	assert_int_equal(keys->keys.more_uses.count + keys->callers.more_uses.count, 0);
	assert_int_equal(frame_shapes_bytes(&keys->shapes), 0);
}

/* Whatever was added before them. */
static void assert_equal_samples_have_its_key(struct history_keys *keys, const struct added *added)
{
	uint32_t id;

	if (!added->sample.trace)
		return;
	assert_int_equal(history_keys_add(keys, &added->sample, &id), 0);
	assert_int_equal(id, added->id);
	history_keys_remove(keys, id);
}

/* Samples come and go in any order, and each is what it was when it was added. */
static void what_is_read_equals_what_was_added(void **state)
{
	enum { HELD = 300 };
	int turns = getenv("ALLFRAMES_LONG") ? 20000 : 6000;
	static struct added added[HELD];
	struct history_keys keys;

	(void)state;
	srand(11);
	assert_int_equal(history_keys_init(&keys), 0);
	for (int turn = 0; turn < turns; turn++) {
		struct added *one = &added[rand() % HELD];

		if (one->sample.trace) {
			assert_key_has(&keys, one->id, &one->sample);
			history_keys_remove(&keys, one->id);
			trace_unref(one->sample.trace);
		}
		one->sample = random_sample(&one->labels);
		if (one->sample.labels)
			one->sample.labels = &one->labels;
		assert_int_equal(history_keys_add(&keys, &one->sample, &one->id), 0);
		assert_key_has(&keys, one->id, &one->sample);
		for (int i = 0; i < 8; i++)
			assert_equal_samples_have_its_key(&keys, &added[rand() % HELD]);
	}
	for (int i = 0; i < HELD; i++) {
		assert_key_has(&keys, added[i].id, &added[i].sample);
		history_keys_remove(&keys, added[i].id);
		trace_unref(added[i].sample.trace);
	}
	assert_is_empty(&keys);
	history_keys_deinit(&keys);
}

static struct sample sample_of(struct trace *trace)
{
	return (struct sample){ .trace = trace, .process_comm = "prog", .thread_comm = "prog" };
}

static uint32_t add_stack(struct history_keys *keys, const char *stack, uint32_t tid)
{
	struct sample sample = sample_of(make_trace(stack));
	uint32_t id;

	sample.tid = tid;
	assert_int_equal(history_keys_add(keys, &sample, &id), 0);
	trace_unref(sample.trace);
	return id;
}

static void equal_samples_have_one_key_and_equal_stacks_one_identity(void **state)
{
	struct history_keys_snapshot snapshot;
	struct stack_identity identities[3];
	struct history_keys keys;
	uint32_t ids[4];

	(void)state;
	assert_int_equal(history_keys_init(&keys), 0);
	ids[0] = add_stack(&keys, "a;b;c;d;e;f;g;h", 1);
	ids[1] = add_stack(&keys, "a;b;c;d;e;f;g;h", 2);
	ids[2] = add_stack(&keys, "a;b;c;d;e;f;g;i", 1);
	ids[3] = add_stack(&keys, "a;b;c;d;e;f;g;h", 1);
	assert_int_equal(ids[0], ids[3]);
	assert_int_not_equal(ids[0], ids[1]);
	assert_int_not_equal(ids[0], ids[2]);
	assert_int_equal(history_keys_snapshot_init(&snapshot, &keys), 0);
	for (int i = 0; i < 3; i++)
		identities[i] = history_key_identity(&snapshot, ids[i]);
	assert_memory_equal(&identities[0], &identities[1], sizeof(identities[0]));
	assert_memory_not_equal(&identities[0], &identities[2], sizeof(identities[0]));
	history_keys_snapshot_deinit(&snapshot);
	history_keys_deinit(&keys);
}

/* 40 callers and one of many leaves. */
static struct trace *deep_trace(uint32_t leaf)
{
	struct frame frames[41];

	for (uint32_t i = 0; i < 41; i++)
		frames[i] = (struct frame){
			.kind = FRAME_NATIVE,
			.flags = i ? FRAME_RETURN_ADDRESS : 0,
			.address = 0x1000000 + 64 * (i ? i : 1000 + leaf),
			.binary = binaries[0],
		};
	return trace_create(frames, 41, true, false);
}

static void stacks_share_their_callers(void **state)
{
	enum { LEAVES = 20000 };
	struct history_keys keys;
	size_t bytes;

	(void)state;
	assert_int_equal(history_keys_init(&keys), 0);
	for (uint32_t i = 0; i < LEAVES; i++) {
		struct sample sample = sample_of(deep_trace(i));
		uint32_t id;

		assert_int_equal(history_keys_add(&keys, &sample, &id), 0);
		trace_unref(sample.trace);
	}
	assert_int_equal(keys.keys.pool.count, LEAVES);
	/* Four bytes for each of the 40 callers, which are all the same. */
	assert_in_range(keys.callers.pool.count, 1, 20);
	assert_int_equal(keys.shapes.pool.count, 2);
	bytes = history_keys_bytes(&keys);
	print_message("%.1f bytes for each of %d stacks of 41 frames\n", (double)bytes / LEAVES,
		      LEAVES);
	assert_true(bytes < 24 * LEAVES);
	history_keys_deinit(&keys);
}

/* As for a day in which stacks come and go: memory is that of the stacks that are there. */
static void memory_is_flat_while_stacks_come_and_go(void **state)
{
	enum { HELD = 2000 };
	uint32_t turns = getenv("ALLFRAMES_LONG") ? 100000 : 40000;
	static uint32_t ids[HELD];
	struct history_keys keys;
	size_t least = SIZE_MAX, most = 0;

	(void)state;
	srand(5);
	assert_int_equal(history_keys_init(&keys), 0);
	for (uint32_t i = 0; i < turns; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "main;x%u;y%u;f%u:%u", skewed(1000), skewed(1000), i,
			 i % 500);
		if (i >= HELD)
			history_keys_remove(&keys, ids[i % HELD]);
		ids[i % HELD] = add_stack(&keys, stack, 1);
		/* The tables of their strings and shapes grow by doubling in the beginning. */
		if (i < turns / 4 || i % 100)
			continue;
		least = history_keys_bytes(&keys) < least ? history_keys_bytes(&keys) : least;
		most = history_keys_bytes(&keys) > most ? history_keys_bytes(&keys) : most;
	}
	print_message("%zu to %zu bytes\n", least, most);
	assert_true(most < least + least / 8);
	assert_in_range(slot_pool_limit(&keys.keys.pool), HELD, 2 * HELD);
	for (uint32_t i = 0; i < HELD; i++)
		history_keys_remove(&keys, ids[i]);
	assert_is_empty(&keys);
	history_keys_deinit(&keys);
}

/* Counts of all sizes: a key counts up to 255 uses itself. */
static void a_key_is_there_until_its_last_use_is_removed(void **state)
{
	static const uint32_t counts[] = { 1, 2, 254, 255, 256, 257, 511, 512, 513, 70000 };
	struct history_keys keys;

	(void)state;
	assert_int_equal(history_keys_init(&keys), 0);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint32_t id = 0;

		for (uint32_t use = 0; use < counts[i]; use++)
			id = add_stack(&keys, "main;loop;work", 1);
		for (uint32_t use = 1; use < counts[i]; use++) {
			history_keys_remove(&keys, id);
			assert_int_equal(keys.keys.pool.count, 1);
		}
		/* Up again, across a multiple of 256. */
		for (uint32_t use = 0; use < 300; use++)
			assert_int_equal(add_stack(&keys, "main;loop;work", 1), id);
		for (uint32_t use = 0; use < 300; use++)
			history_keys_remove(&keys, id);
		assert_int_equal(keys.keys.pool.count, 1);
		history_keys_remove(&keys, id);
		assert_is_empty(&keys);
	}
	history_keys_deinit(&keys);
}

static void freed_keys_are_told_once(void **state)
{
	struct key_bits_vector freed = { 0 }, later = { 0 };
	struct history_keys keys;
	uint32_t one, other;

	(void)state;
	assert_int_equal(history_keys_init(&keys), 0);
	one = add_stack(&keys, "main;one", 1);
	other = add_stack(&keys, "main;other", 1);
	history_keys_remove(&keys, other);
	/* Its id is used again. */
	assert_int_equal(add_stack(&keys, "main;third", 1), other);
	assert_int_equal(history_keys_take_freed(&keys, &freed), 0);
	assert_int_equal(freed.items[0], UINT64_C(1) << other);
	assert_int_equal(history_keys_take_freed(&keys, &later), 0);
	assert_int_equal(later.count, 0);
	history_keys_remove(&keys, one);
	assert_int_equal(history_keys_take_freed(&keys, &later), 0);
	assert_int_equal(later.items[0], UINT64_C(1) << one);
	key_bits_vector_deinit(&freed);
	key_bits_vector_deinit(&later);
	history_keys_deinit(&keys);
}

static void the_deepest_stack_is_stored(void **state)
{
	struct frame *frames = calloc(UINT16_MAX, sizeof(*frames));
	struct history_keys keys;
	struct sample sample;
	uint32_t id;

	(void)state;
	assert_non_null(frames);
	for (uint32_t i = 0; i < UINT16_MAX; i++)
		frames[i] = (struct frame){ .kind = FRAME_NATIVE,
					    .binary = binaries[i % BINARIES],
					    .address = UINT64_MAX - i };
	assert_int_equal(history_keys_init(&keys), 0);
	sample = sample_of(trace_create(frames, UINT16_MAX, false, false));
	assert_int_equal(history_keys_add(&keys, &sample, &id), 0);
	assert_key_has(&keys, id, &sample);
	history_keys_remove(&keys, id);
	assert_is_empty(&keys);
	trace_unref(sample.trace);
	history_keys_deinit(&keys);
	free(frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read_equals_what_was_added),
		cmocka_unit_test(equal_samples_have_one_key_and_equal_stacks_one_identity),
		cmocka_unit_test(stacks_share_their_callers),
		cmocka_unit_test(memory_is_flat_while_stacks_come_and_go),
		cmocka_unit_test(a_key_is_there_until_its_last_use_is_removed),
		cmocka_unit_test(freed_keys_are_told_once),
		cmocka_unit_test(the_deepest_stack_is_stored),
	};

	return cmocka_run_group_tests(tests, make_files, drop_files);
}
