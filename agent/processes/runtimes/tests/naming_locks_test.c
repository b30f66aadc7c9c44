/* SPDX-License-Identifier: Apache-2.0 */
/* While a runtime names frames, which takes as long as its process lets it, no other thread may have to wait. */
#include "agent/processes/runtimes/tests/interpreted_fixture.h"

#include <pthread.h>
#include <time.h>

#include "agent/processes/perf_maps.h"
#include "agent/runtimes/tests/local_files.h"
#include "agent/runtimes/tests/local_proc.h"

struct named_code_fixture {
	struct fixture *fixture;
	struct perf_maps *maps;
	struct local_files files;
	struct local_proc reads;
};

static const struct process_identity code_identity = { 100, 1 };

static void request_nothing(void *context, uint32_t pid, const struct process_identity *identity)
{
	(void)context;
	(void)pid;
	(void)identity;
}

static void write_perf_map(struct named_code_fixture *code, const char *text)
{
	char path[256], status[64];

	snprintf(status, sizeof(status), "Uid:\t%u\t%u\t%u\t%u\nNSpid:\t7\n", getuid(), getuid(),
		 getuid(), getuid());
	fake_proc_write(&code->fixture->base.proc, 7, "status", status);
	snprintf(path, sizeof(path), "%s/7/root", code->fixture->base.proc.root);
	mkdir(path, 0700);
	strcat(path, "/tmp");
	mkdir(path, 0700);
	strcat(path, "/perf-7.map");
	write_text(path, text);
}

static void named_code_fixture_init(struct named_code_fixture *code, struct fixture *fixture)
{
	struct perf_maps_config config = {
		.proc_root = fixture->base.proc.root,
		.files = &code->files.home,
		.reads = &code->reads.home,
		.request = request_nothing,
	};

	code->fixture = fixture;
	local_files_init(&code->files, fixture->base.proc.root);
	local_proc_init(&code->reads, fixture->base.proc.root);
	assert_int_equal(perf_maps_create(&config, &code->maps), 0);
	write_perf_map(code, "1000 10 compiled\n");
	perf_maps_ask(code->maps, 7, &code_identity, NS_PER_SECOND);
	perf_maps_read(code->maps, 7, &code_identity, NS_PER_SECOND);
}

/* Other threads may need these locks at any time. */
static void *take_all_locks(void *argument)
{
	struct named_code_fixture *code = argument;
	struct language_fixture *base = &code->fixture->base;
	struct process_view view;

	perf_maps_ask(code->maps, 7, &code_identity, NS_PER_SECOND);
	process_table_view(&base->table, 7, &code_identity, 2000, &view);
	process_view_release(&base->table, &view);
	binary_unref(executable_cache_binary(base->executables, base->other->id));
	return NULL;
}

static void use_what_must_not_be_locked(void *context)
{
	struct named_code_fixture *code = context;
	struct timespec until;
	pthread_t thread;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	assert_int_equal(pthread_create(&thread, NULL, take_all_locks, code), 0);
	assert_int_equal(pthread_timedjoin_np(thread, NULL, &until), 0);
	write_perf_map(code, "1000 10 compiled\n1000 10 compiled anew\n");
	perf_maps_read(code->maps, 7, &code_identity, NS_PER_SECOND + PERF_MAP_MIN_NS);
}

static void nothing_is_locked_while_memory_of_a_process_is_read(void **state)
{
	struct fixture *fixture = *state;
	struct named_code_fixture code;
	struct trace_handler_config config = {
		.table = &fixture->base.table,
		.executables = fixture->base.executables,
		.reporter = &fixture->reporter.reporter,
	};
	const struct trace *trace;

	named_code_fixture_init(&code, fixture);
	config.perf_maps = code.maps;
	trace_handler_destroy(fixture->handler);
	assert_int_equal(trace_handler_create(&config, &fixture->handler), 0);
	give_runtimes(fixture, fixture->process, 1);
	fixture->base.home.asked = use_what_must_not_be_locked;
	fixture->base.home.asked_context = &code;
	begin(fixture);
	put_native(fixture, OTHER, 0, 0x1008);
	fixture->record.words[1] = EXECUTABLE_ID_ANONYMOUS;
	put(fixture, 0x5550, 1, 77);
	trace = handle(fixture);
	assert_int_equal(fixture->base.home.round_count, 1);
	/* It is the name from before the change. */
	assert_string_equal(trace_frame(trace, 0).function, "compiled");
	assert_string_equal(trace_frame(trace, 1).function, "f5550");
	/* The next conversion has the new one. */
	trace = handle(fixture);
	assert_string_equal(trace_frame(trace, 0).function, "compiled anew");
	fixture->base.home.asked = NULL;
	make_handler(fixture, false);
	perf_maps_destroy(code.maps);
	local_files_deinit(&code.files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_locked_while_memory_of_a_process_is_read,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
