/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history and API of a machine with 100,000 distinct stacks: all are kept, and each is named
 * once.
 */
#include "viewer/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "viewer/tests/asking.h"

enum {
	STACKS = 100000,
	DEPTH = 30,
	FUNCTIONS = 4000,
	FUNCTION_BYTES = 256,
	/* Callees per function; the first is called half of the time. */
	WAYS_ON = 8,
	BINARIES = 4,
	PROCESSES = 20,
	/* CPU time of the viewer's thread for one flame graph, with sanitizers. */
	FIRST_ANSWER_SECONDS = 30,
	NEXT_ANSWER_SECONDS = 15,
};

struct counting_lookup {
	struct symbol_lookup lookup;
	uint64_t calls;
	char name[64];
};

static uint32_t resolve(struct symbol_lookup *lookup, struct binary *binary, uint64_t address,
			struct symbol *symbols, uint32_t capacity)
{
	struct counting_lookup *counting = (struct counting_lookup *)lookup;

	(void)binary;
	(void)capacity;
	counting->calls++;
	snprintf(counting->name, sizeof(counting->name), "name_space::function_%lu(int, char)",
		 (unsigned long)(address / FUNCTION_BYTES));
	symbols[0] = (struct symbol){ .function = counting->name };
	return 1;
}

static const struct symbol_lookup_ops counting_ops = { .resolve = resolve };

static uint32_t pick_way(void)
{
	uint32_t way = 0;

	while (way < WAYS_ON - 1 && rand() % 2)
		way++;
	return way;
}

/*
 * A random path through a call graph from a common start, so that stacks share their first frames.
 */
static struct trace *make_random_trace(struct binary *const *binaries)
{
	struct frame frames[DEPTH] = { 0 };
	uint32_t function = 0;

	for (uint32_t i = 0; i < DEPTH; i++) {
		uint32_t way = pick_way();

		frames[DEPTH - 1 - i] = (struct frame){
			.kind = FRAME_NATIVE,
			.flags = i < DEPTH - 1 ? FRAME_RETURN_ADDRESS : 0,
			.address = (uint64_t)function * FUNCTION_BYTES + 16 * (way + 1),
			.binary = binaries[function * BINARIES / FUNCTIONS],
		};
		function = (function * 31 + way + 1) % FUNCTIONS;
	}
	return trace_create(frames, DEPTH, true, false);
}

/* Reports stacks until STACKS are distinct. */
static void report_stacks(struct history *history)
{
	struct hash_map seen = { 0 };
	struct binary *binaries[BINARIES];
	uint64_t known;

	for (uint32_t i = 0; i < BINARIES; i++)
		binaries[i] = binary_create(&(struct binary){
			.fd = -1,
			.executable_id = i + 1,
			.file_id.bytes[0] = (uint8_t)(i + 1),
			.path = "/usr/lib/x86_64-linux-gnu/libsomething.so.1",
		});
	srand(5);
	while (seen.count < STACKS) {
		struct trace *trace = make_random_trace(binaries);
		uint32_t n = (uint32_t)seen.count;

		assert_non_null(trace);
		if (!hash_map_find_bytes(&seen, &trace->hash, sizeof(trace->hash), &known)) {
			assert_int_equal(
				hash_map_set_bytes(&seen, &trace->hash, sizeof(trace->hash), 1), 0);
			report_trace(history, trace,
				     &(struct told){ .pid = n % PROCESSES,
						     .tid = n % PROCESSES,
						     .time_ns = EPOCH_NS + n * MS_NS });
		}
		trace_unref(trace);
	}
	hash_map_deinit(&seen);
	for (uint32_t i = 0; i < BINARIES; i++)
		binary_unref(binaries[i]);
}

static void a_hundred_thousand_stacks_are_kept_and_named_once(void **state)
{
	struct counting_lookup counting = { .lookup.ops = &counting_ops };
	const struct history_options options = { .retention_ns = 1800 * SECOND_NS };
	struct asked asked = { .history = history_create(&options) };
	struct api_config config = {
		.history = asked.history,
		.lookup = &counting.lookup,
		.version = "v1",
		.host = "box",
		.kernel = "6.1",
		.source = "this machine",
		.epoch_monotonic_ns = EPOCH_NS,
	};
	struct history_facts facts;
	uint64_t start, calls;

	(void)state;
	assert_non_null(asked.history);
	report_stacks(asked.history);
	history_facts(asked.history, &facts);
	print_message("%zu bytes for %d stacks\n", facts.bytes, STACKS);
	assert_int_equal(facts.samples, STACKS);
	assert_int_equal(facts.dropped, 0);
	assert_int_equal(api_create(&config, &asked.api), 0);
	start = clock_thread_cpu_ns();
	assert_int_equal(ask_number(&asked, "flame", "total"), STACKS);
	print_message("the first answer takes %.2f s\n",
		      (double)(clock_thread_cpu_ns() - start) / 1e9);
	assert_true(clock_thread_cpu_ns() - start < FIRST_ANSWER_SECONDS * SECOND_NS);
	calls = counting.calls;
	/* Each address is looked up once, however many stacks have it. */
	assert_in_range(calls, FUNCTIONS, FUNCTIONS * WAYS_ON * 2);
	for (int i = 0; i < 2; i++) {
		start = clock_thread_cpu_ns();
		assert_int_equal(ask_number(&asked, "flame", "total"), STACKS);
		print_message("the next one %.2f s\n",
			      (double)(clock_thread_cpu_ns() - start) / 1e9);
		assert_true(clock_thread_cpu_ns() - start < NEXT_ANSWER_SECONDS * SECOND_NS);
		assert_int_equal(counting.calls, calls);
	}
	api_destroy(asked.api);
	history_destroy(asked.history);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hundred_thousand_stacks_are_kept_and_named_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
