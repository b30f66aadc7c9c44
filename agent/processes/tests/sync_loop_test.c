/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/tests/fakes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/processes/sync_loop.h"
#include "agent/runtimes/tests/local_proc.h"
#include "ebpf/abi/frame.h"
#include "lib/base/clock.h"
#include "lib/model/metrics.h"

struct fixture {
	struct fake_writer writer;
	struct fake_proc proc;
	struct process_table table;
	struct mapping_log log;
	struct executable_cache *executables;
	struct sync_loop loop;
	struct local_proc reads;
	/* Syncs read the real clock, so tests count from the present. */
	uint64_t start_ns;
	uint64_t syncs_before;
};

static void request_file(void *context, const struct process *process,
			 const struct proc_mapping *mapping)
{
	(void)context;
	(void)process;
	(void)mapping;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct executable_cache_config config = {};
	struct process_sync sync = { .request_file = request_file, .mapping_log = &fixture->log };

	fake_writer_init(&fixture->writer);
	fake_proc_init(&fixture->proc);
	process_table_init(&fixture->table);
	assert_int_equal(mapping_log_init(&fixture->log), 0);
	mapping_log_note_heard(&fixture->log, UINT64_MAX);
	config.writer = &fixture->writer.writer;
	assert_int_equal(executable_cache_create(&config, &fixture->executables), 0);
	sync.writer = &fixture->writer.writer;
	sync.table = &fixture->table;
	sync.executables = fixture->executables;
	sync.proc_root = fixture->proc.root;
	local_proc_init(&fixture->reads, fixture->proc.root);
	sync.reads = &fixture->reads.home;
	sync_loop_init(&fixture->loop, &sync, 19);
	fixture->start_ns = clock_monotonic_ns();
	fixture->syncs_before = metrics_read(METRIC_PROCESS_SYNCS);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	sync_loop_deinit(&fixture->loop);
	executable_cache_destroy(fixture->executables);
	process_table_deinit(&fixture->table);
	mapping_log_deinit(&fixture->log);
	fake_proc_deinit(&fixture->proc);
	free(fixture);
	return 0;
}

static void give_maps(struct fixture *fixture, uint32_t pid, uint64_t start)
{
	char text[128];

	snprintf(text, sizeof(text), "%lx-%lx rwxp 00000000 00:00 0\n", start, start + 0x1000);
	fake_proc_write(&fixture->proc, pid, "maps", text);
}

static void send_process_event(struct fixture *fixture, enum process_event_type type, uint32_t pid,
			       uint64_t exec_id, uint64_t now_ns)
{
	const struct sync_event event = {
		.type = EVENT_PROCESS,
		.process_event = {
			.type = type,
			.pid = pid,
			.identity = { .start_time_ns = 100, .exec_id = exec_id },
			.time_ns = now_ns,
		},
	};

	sync_loop_handle(&fixture->loop, &event, now_ns);
}

static void map(struct fixture *fixture, uint32_t pid, bool is_replaced, uint64_t now_ns)
{
	const struct sync_event event = {
		.type = EVENT_MAPPING,
		.mapping = { .pid = pid,
			     .start = 0x1000,
			     .end = 0x2000,
			     .is_replaced = is_replaced },
	};

	sync_loop_handle(&fixture->loop, &event, now_ns);
}

static void mapping(struct fixture *fixture, uint32_t pid, uint64_t now_ns)
{
	map(fixture, pid, false, now_ns);
}

static uint32_t run(struct fixture *fixture, uint64_t now_ns)
{
	return sync_loop_run_due(&fixture->loop, now_ns, 100);
}

static void a_task_of_the_snapshot_is_published_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct task_snapshot task = { .pid = 7, .identity = { 100, 1 } };
	struct task_snapshot kernel_thread = { .pid = 8, .is_kernel_thread = 1 };

	give_maps(fixture, 7, 0x1000);
	sync_loop_add_task(&fixture->loop, &task, fixture->start_ns);
	sync_loop_add_task(&fixture->loop, &kernel_thread, fixture->start_ns);
	assert_int_equal(sync_loop_pending_count(&fixture->loop), 1);
	assert_int_equal(run(fixture, fixture->start_ns), 1);
	assert_true(fake_published(&fixture->writer, 7, NULL));
	assert_int_equal(sync_loop_pending_count(&fixture->loop), 0);
}

static void an_unknown_process_is_synced_at_once_and_armed_again(void **state)
{
	struct fixture *fixture = *state;

	give_maps(fixture, 7, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, fixture->start_ns);
	assert_int_equal(run(fixture, fixture->start_ns), 1);
	assert_true(fake_published(&fixture->writer, 7, NULL));
	assert_int_equal(fixture->writer.rearm_count, 1);
	assert_int_equal(fixture->writer.last_rearmed, 7);
}

static void the_look_after_an_exec_comes_with_the_next_sample(void **state)
{
	(void)state;
	assert_int_equal(sync_loop_exec_delay(1), EXEC_DELAY_MAX_NS);
	assert_int_equal(sync_loop_exec_delay(100), 10 * NS_PER_MS);
	assert_int_equal(sync_loop_exec_delay(10000), EXEC_DELAY_MIN_NS);
}

static void of_all_that_wait_the_sampled_one_is_synced_first(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t pid = 10; pid < 60; pid++) {
		struct task_snapshot task = { .pid = pid, .identity = { 100, 1 } };

		give_maps(fixture, pid, 0x1000);
		sync_loop_add_task(&fixture->loop, &task, fixture->start_ns);
	}
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 57, 1,
			   fixture->start_ns + NS_PER_MS);
	assert_int_equal(sync_loop_run_due(&fixture->loop, fixture->start_ns + NS_PER_MS, 1), 1);
	assert_true(fake_published(&fixture->writer, 57, NULL));
	assert_int_equal(sync_loop_pending_count(&fixture->loop), 49);
}

static void an_exec_is_synced_with_its_libraries(void **state)
{
	struct fixture *fixture = *state;
	const struct process_identity identity = { 100, 1 };
	uint64_t now_ns = clock_monotonic_ns();

	give_maps(fixture, 7, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_EXEC, 7, 1, now_ns);
	assert_int_equal(run(fixture, now_ns), 0);
	assert_int_equal(process_table_find(&fixture->table, 7, &identity)->state, PROCESS_NEW);
	/* A library puts it off, but by little. */
	now_ns += NS_PER_MS;
	mapping(fixture, 7, now_ns);
	while (clock_monotonic_ns() < now_ns + fixture->loop.exec_delay_ns)
		;
	assert_int_equal(run(fixture, now_ns + 100 * NS_PER_MS), 1);
	assert_true(fake_published(&fixture->writer, 7, NULL));
}

static void a_process_that_does_not_answer_is_as_new_when_it_does(void **state)
{
	struct fixture *fixture = *state;
	const struct process_identity identity = { 100, 1 };
	uint64_t now_ns = fixture->start_ns;

	give_maps(fixture, 7, 0x1000);
	fixture->reads.err = -EHOSTDOWN;
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns);
	assert_int_equal(run(fixture, now_ns), 1);
	assert_false(fake_published(&fixture->writer, 7, NULL));
	assert_int_equal(process_table_find(&fixture->table, 7, &identity)->state, PROCESS_NEW);
	fixture->reads.err = 0;
	for (int i = 0; i < 1000 && !fake_published(&fixture->writer, 7, NULL); i++) {
		now_ns += NS_PER_SECOND;
		run(fixture, now_ns);
	}
	assert_true(fake_published(&fixture->writer, 7, NULL));
}

static void what_was_never_sampled_is_forgotten_at_its_end(void **state)
{
	struct fixture *fixture = *state;
	const struct process_identity identity = { 100, 1 };
	uint64_t now_ns = fixture->start_ns;

	send_process_event(fixture, PROCESS_EVENT_EXEC, 7, 1, now_ns);
	send_process_event(fixture, PROCESS_EVENT_EXIT, 7, 1, now_ns + NS_PER_MS);
	assert_null(process_table_find(&fixture->table, 7, &identity));
	assert_int_equal(metrics_read(METRIC_PROCESS_SYNCS), fixture->syncs_before);
	run(fixture, now_ns + NS_PER_SECOND);
	assert_int_equal(metrics_read(METRIC_PROCESS_SYNCS), fixture->syncs_before);
}

static void what_was_sampled_is_looked_for_after_its_end(void **state)
{
	struct fixture *fixture = *state;
	const struct process_identity identity = { 100, 1 };
	uint64_t now_ns = fixture->start_ns;

	send_process_event(fixture, PROCESS_EVENT_EXEC, 7, 1, now_ns);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns + 1);
	send_process_event(fixture, PROCESS_EVENT_EXIT, 7, 1, now_ns + NS_PER_MS);
	run(fixture, now_ns + NS_PER_SECOND);
	assert_int_equal(process_table_find(&fixture->table, 7, &identity)->state,
			 PROCESS_UNREADABLE);
}

static void a_sampled_exec_is_not_looked_at_before_its_libraries_are_mapped(void **state)
{
	struct fixture *fixture = *state;
	uint64_t now_ns = fixture->start_ns;

	give_maps(fixture, 7, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_EXEC, 7, 1, now_ns);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns);
	assert_int_equal(run(fixture, now_ns + fixture->loop.exec_delay_ns - 1), 0);
	assert_int_equal(run(fixture, now_ns + fixture->loop.exec_delay_ns), 1);
}

static void what_is_gone_is_looked_at_when_all_is_known(void **state)
{
	struct fixture *fixture = *state;
	const struct process_identity identity = { 100, 1 };
	uint64_t now_ns = fixture->start_ns;

	mapping_log_note_heard(&fixture->log, 0);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns);
	run(fixture, now_ns + NS_PER_MS);
	assert_int_equal(process_table_find(&fixture->table, 7, &identity)->state, PROCESS_NEW);
	mapping_log_note_heard(&fixture->log, UINT64_MAX);
	run(fixture, now_ns + 100 * NS_PER_MS);
	assert_int_equal(process_table_find(&fixture->table, 7, &identity)->state,
			 PROCESS_UNREADABLE);
}

static void a_program_that_ran_another_is_looked_at_too(void **state)
{
	struct fixture *fixture = *state;
	const struct process_identity identity = { 100, 1 };
	uint64_t now_ns = fixture->start_ns;

	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns);
	send_process_event(fixture, PROCESS_EVENT_EXEC, 7, 2, now_ns + 1);
	run(fixture, now_ns + NS_PER_SECOND);
	assert_int_equal(process_table_find(&fixture->table, 7, &identity)->state,
			 PROCESS_UNREADABLE);
}

static void endless_mapping_does_not_put_publishing_off_for_ever(void **state)
{
	struct fixture *fixture = *state;
	uint64_t start_ns = clock_monotonic_ns(), now_ns;

	give_maps(fixture, 7, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_EXEC, 7, 1, start_ns);
	do {
		now_ns = clock_monotonic_ns();
		mapping(fixture, 7, now_ns);
		run(fixture, now_ns);
	} while (!fake_published(&fixture->writer, 7, NULL) && now_ns < start_ns + NS_PER_SECOND);
	assert_true(fake_published(&fixture->writer, 7, NULL));
}

static void several_mappings_make_one_sync(void **state)
{
	struct fixture *fixture = *state;
	uint64_t now_ns = fixture->start_ns;

	give_maps(fixture, 7, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns);
	run(fixture, now_ns);
	now_ns += NS_PER_SECOND;
	for (uint32_t i = 0; i < 10; i++)
		mapping(fixture, 7, now_ns + i);
	assert_int_equal(run(fixture, now_ns + 100), 0);
	assert_int_equal(run(fixture, now_ns + MAPPING_DELAY_NS), 1);
	assert_int_equal(run(fixture, now_ns + NS_PER_SECOND), 0);
	/* The maps were the same. */
	assert_int_equal(fixture->writer.publish_count, 1);
}

static void an_address_that_stays_unknown_is_asked_for_ever_more_rarely(void **state)
{
	struct fixture *fixture = *state;
	uint64_t now_ns = fixture->start_ns;
	uint64_t pause_ns, last_pause_ns = 0;

	give_maps(fixture, 7, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns);
	run(fixture, now_ns);
	for (uint32_t i = 0; i < 10; i++) {
		uint32_t rearm_count = fixture->writer.rearm_count;

		/* Longer than any pause after the sync before. */
		now_ns += NS_PER_SECOND;
		send_process_event(fixture, PROCESS_EVENT_UNKNOWN_ADDRESS, 7, 1, now_ns);
		assert_int_equal(run(fixture, now_ns), 1);
		for (pause_ns = 0; fixture->writer.rearm_count == rearm_count;
		     pause_ns += 10 * NS_PER_MS)
			run(fixture, now_ns + pause_ns);
		assert_true(pause_ns >= last_pause_ns);
		last_pause_ns = pause_ns;
		now_ns += pause_ns;
	}
	assert_true(last_pause_ns >= NS_PER_SECOND);
	assert_true(last_pause_ns <= 11 * NS_PER_SECOND);
	/* Something new resets it. */
	now_ns += NS_PER_SECOND;
	give_maps(fixture, 7, 0x5000);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_ADDRESS, 7, 1, now_ns);
	last_pause_ns = fixture->writer.rearm_count;
	run(fixture, now_ns);
	assert_int_equal(fixture->writer.rearm_count, last_pause_ns + 1);
}

static void an_exec_takes_the_old_entry_away(void **state)
{
	struct fixture *fixture = *state;
	const struct process_identity before = { 100, 1 };
	struct process *old;

	give_maps(fixture, 7, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, fixture->start_ns);
	run(fixture, fixture->start_ns);
	old = process_table_find(&fixture->table, 7, &before);
	assert_int_equal(old->table->count, 1);
	send_process_event(fixture, PROCESS_EVENT_EXEC, 7, 2, clock_monotonic_ns());
	assert_false(fake_published(&fixture->writer, 7, NULL));
	assert_true(old->ended_ns > 0);
	/* Its maps were read so shortly before that they may be the new program's. */
	assert_int_equal(old->table->count, 0);
	fake_proc_write(&fixture->proc, 7, "maps", "");
	run(fixture, fixture->start_ns + NS_PER_SECOND);
}

static void an_ended_process_stays_for_late_samples_and_then_goes(void **state)
{
	struct fixture *fixture = *state;
	const struct process_identity identity = { 100, 1 };
	uint64_t now_ns = fixture->start_ns;

	give_maps(fixture, 7, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns);
	run(fixture, now_ns);
	send_process_event(fixture, PROCESS_EVENT_EXIT, 7, 1, now_ns);
	sync_loop_tick(&fixture->loop, now_ns);
	assert_true(fake_published(&fixture->writer, 7, NULL));
	sync_loop_tick(&fixture->loop, now_ns + NS_PER_SECOND);
	assert_false(fake_published(&fixture->writer, 7, NULL));
	assert_non_null(process_table_find(&fixture->table, 7, &identity));
	sync_loop_tick(&fixture->loop, now_ns + 10 * NS_PER_SECOND);
	assert_null(process_table_find(&fixture->table, 7, &identity));
}

static void a_reused_pid_is_another_process(void **state)
{
	struct fixture *fixture = *state;
	struct sync_event event = {
		.type = EVENT_PROCESS,
		.process_event = { .type = PROCESS_EVENT_UNKNOWN_PROCESS,
				   .pid = 7,
				   .identity = { .start_time_ns = 500, .exec_id = 0 } },
	};
	struct fake_entry entry;

	give_maps(fixture, 7, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 3, fixture->start_ns);
	run(fixture, fixture->start_ns);
	give_maps(fixture, 7, 0x9000);
	sync_loop_handle(&fixture->loop, &event, fixture->start_ns + 1);
	run(fixture, fixture->start_ns + 1);
	assert_true(fake_published(&fixture->writer, 7, &entry));
	assert_int_equal(entry.identity.start_time_ns, 500);
	assert_int_equal(entry.rows[0].start, 0x9000);
	/* A late process event of the one before changes nothing. */
	send_process_event(fixture, PROCESS_EVENT_EXIT, 7, 3, fixture->start_ns + 2);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 2, fixture->start_ns + 2);
	run(fixture, fixture->start_ns + 2);
	sync_loop_tick(&fixture->loop, fixture->start_ns + 20 * NS_PER_SECOND);
	assert_true(fake_published(&fixture->writer, 7, &entry));
	assert_int_equal(entry.identity.start_time_ns, 500);
}

static void a_missing_entry_is_written_again_but_not_while_it_is_fresh(void **state)
{
	struct fixture *fixture = *state;
	uint64_t now_ns = fixture->start_ns;

	give_maps(fixture, 7, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns);
	run(fixture, now_ns);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns + NS_PER_MS);
	run(fixture, now_ns + NS_PER_MS);
	assert_int_equal(fixture->writer.publish_count, 1);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns + NS_PER_SECOND);
	run(fixture, now_ns + NS_PER_SECOND);
	assert_int_equal(fixture->writer.publish_count, 2);
}

static void lost_events_sync_everything_and_arm_every_process_event(void **state)
{
	struct fixture *fixture = *state;
	const struct sync_event lost = { .type = EVENT_LOST };
	uint64_t now_ns = fixture->start_ns;
	struct fake_entry entry;

	for (uint32_t pid = 7; pid < 10; pid++) {
		give_maps(fixture, pid, 0x1000);
		send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, pid, 1, now_ns);
	}
	run(fixture, now_ns);
	for (uint32_t pid = 7; pid < 10; pid++)
		give_maps(fixture, pid, 0x8000);
	now_ns += NS_PER_SECOND;
	fixture->writer.rearm_count = 0;
	sync_loop_handle(&fixture->loop, &lost, now_ns);
	assert_int_equal(run(fixture, now_ns + 10 * NS_PER_MS), 3);
	assert_int_equal(fixture->writer.rearm_count, 3);
	for (uint32_t pid = 7; pid < 10; pid++) {
		assert_true(fake_published(&fixture->writer, pid, &entry));
		assert_int_equal(entry.rows[0].start, 0x8000);
	}
}

static void losing_events_on_and_on_does_not_sync_everything_on_and_on(void **state)
{
	struct fixture *fixture = *state;
	const struct sync_event lost = { .type = EVENT_LOST };
	uint64_t now_ns = fixture->start_ns;

	give_maps(fixture, 7, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns);
	run(fixture, now_ns);
	sync_loop_tick(&fixture->loop, now_ns);
	now_ns += NS_PER_SECOND / 2;
	sync_loop_handle(&fixture->loop, &lost, now_ns);
	assert_int_equal(run(fixture, now_ns + 10 * NS_PER_MS), 1);
	now_ns += 20 * NS_PER_MS;
	sync_loop_handle(&fixture->loop, &lost, now_ns);
	assert_int_equal(sync_loop_pending_count(&fixture->loop), 0);
	assert_true(sync_loop_next_due(&fixture->loop) <= now_ns + 100 * NS_PER_MS);
	/* Lost events are still made up for. */
	now_ns += 100 * NS_PER_MS;
	sync_loop_tick(&fixture->loop, now_ns);
	assert_int_equal(run(fixture, now_ns + 10 * NS_PER_MS), 1);
}

static bool is_seven(void *context, uint32_t pid, bool is_new)
{
	(void)context;
	(void)is_new;
	return pid == 7;
}

static void only_selected_processes_are_read_before_they_are_sampled(void **state)
{
	struct fixture *fixture = *state;
	const struct process_identity identity = { 100, 1 };
	uint64_t now_ns = fixture->start_ns;

	fixture->loop.is_selected = is_seven;
	for (uint32_t pid = 7; pid < 10; pid++) {
		const struct task_snapshot task = { .pid = pid, .identity = identity };

		give_maps(fixture, pid, 0x1000);
		if (pid < 9)
			sync_loop_add_task(&fixture->loop, &task, now_ns);
	}
	send_process_event(fixture, PROCESS_EVENT_EXEC, 9, 1, now_ns);
	now_ns += NS_PER_SECOND;
	run(fixture, now_ns);
	assert_true(fake_published(&fixture->writer, 7, NULL));
	assert_null(process_table_find(&fixture->table, 8, &identity));
	assert_null(process_table_find(&fixture->table, 9, &identity));
	/* A process that is sampled has been selected, whatever is known of it here. */
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 9, 1, now_ns);
	run(fixture, now_ns);
	assert_true(fake_published(&fixture->writer, 9, NULL));
	/* Its next program too, until that ends. */
	send_process_event(fixture, PROCESS_EVENT_EXEC, 9, 2, now_ns);
	assert_non_null(
		process_table_find(&fixture->table, 9, &(struct process_identity){ 100, 2 }));
}

static void a_process_without_maps_has_ended(void **state)
{
	struct fixture *fixture = *state;
	const struct process_identity identity = { 100, 1 };
	uint64_t now_ns = fixture->start_ns;

	/* Its exit was told before, or not at all. */
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns);
	run(fixture, now_ns);
	assert_non_null(process_table_find(&fixture->table, 7, &identity));
	now_ns += 6 * NS_PER_SECOND;
	sync_loop_tick(&fixture->loop, now_ns);
	assert_null(process_table_find(&fixture->table, 7, &identity));
	/* Should it have been a mistake, it is found again. */
	give_maps(fixture, 7, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns);
	run(fixture, now_ns);
	assert_true(fake_published(&fixture->writer, 7, NULL));
}

static void a_process_whose_exit_was_not_told_goes(void **state)
{
	struct fixture *fixture = *state;
	const struct process_identity identity = { 100, 1 };
	uint64_t now_ns = fixture->start_ns;
	char command[128];

	give_maps(fixture, 7, 0x1000);
	give_maps(fixture, 8, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 8, 1, now_ns);
	run(fixture, now_ns);
	snprintf(command, sizeof(command), "rm -r %s/7", fixture->proc.root);
	assert_int_equal(system(command), 0);
	for (uint32_t i = 0; i < 30; i++)
		sync_loop_tick(&fixture->loop, now_ns + i * NS_PER_SECOND);
	assert_null(process_table_find(&fixture->table, 7, &identity));
	assert_non_null(process_table_find(&fixture->table, 8, &identity));
	assert_false(fake_published(&fixture->writer, 7, NULL));
	assert_true(fake_published(&fixture->writer, 8, NULL));
}

static void repeated_syncs_that_cost_too_much_are_spaced_out(void **state)
{
	struct fixture *fixture = *state;
	uint64_t now_ns = fixture->start_ns;
	struct process *process;

	give_maps(fixture, 7, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns);
	run(fixture, now_ns);
	process = process_table_current(&fixture->table, 7);
	process->sync_cost_ns = NS_PER_MS;
	sync_loop_tick(&fixture->loop, now_ns);
	now_ns += NS_PER_SECOND;
	/* Five times as much as they may cost. */
	fixture->loop.resync_cost_ns = 5 * RESYNC_PERCENT * NS_PER_SECOND / 100;
	sync_loop_tick(&fixture->loop, now_ns);
	process->read_ns = now_ns;
	mapping(fixture, 7, now_ns);
	assert_int_equal(run(fixture, now_ns + 124 * NS_PER_MS), 0);
	assert_int_equal(run(fixture, now_ns + 125 * NS_PER_MS), 1);
	/* With rest the pauses become what they were. */
	for (uint32_t i = 1; i < 5; i++) {
		fixture->loop.resync_cost_ns = 0;
		sync_loop_tick(&fixture->loop, now_ns + i * NS_PER_SECOND);
	}
	now_ns += 5 * NS_PER_SECOND;
	process->sync_cost_ns = NS_PER_MS;
	process->read_ns = now_ns;
	mapping(fixture, 7, now_ns);
	assert_int_equal(run(fixture, now_ns + 24 * NS_PER_MS), 0);
	assert_int_equal(run(fixture, now_ns + 25 * NS_PER_MS), 1);
}

static void a_replaced_file_is_looked_at_soon_but_not_one_that_is_replaced_on_and_on(void **state)
{
	struct fixture *fixture = *state;
	uint64_t now_ns = fixture->start_ns;
	struct process *process;
	uint32_t hurried = 0;

	give_maps(fixture, 7, 0x1000);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1, now_ns);
	run(fixture, now_ns);
	process = process_table_current(&fixture->table, 7);
	for (; hurried < 100; hurried++) {
		process->sync_cost_ns = NS_PER_MS;
		process->read_ns = now_ns;
		map(fixture, 7, true, now_ns);
		now_ns += 2 * NS_PER_MS;
		if (!run(fixture, now_ns))
			break;
	}
	assert_in_range(hurried, 16, 64);
	assert_int_equal(run(fixture, now_ns + 22 * NS_PER_MS), 0);
	assert_int_equal(run(fixture, now_ns + 23 * NS_PER_MS), 1);
	now_ns += NS_PER_SECOND;
	process->sync_cost_ns = NS_PER_MS;
	process->read_ns = now_ns;
	map(fixture, 7, true, now_ns);
	assert_int_equal(run(fixture, now_ns + 2 * NS_PER_MS), 1);
}

static void a_program_that_execs_on_and_on_is_not_remembered_on_and_on(void **state)
{
	struct fixture *fixture = *state;
	uint32_t count = 0;

	for (uint32_t exec_id = 1; exec_id <= 100; exec_id++)
		send_process_event(fixture, PROCESS_EVENT_EXEC, 7, exec_id, fixture->start_ns);
	for (struct process *process = process_table_current(&fixture->table, 7); process;
	     process = process->older)
		count++;
	assert_true(count <= 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_task_of_the_snapshot_is_published_at_once),
		TEST(an_unknown_process_is_synced_at_once_and_armed_again),
		TEST(the_look_after_an_exec_comes_with_the_next_sample),
		TEST(of_all_that_wait_the_sampled_one_is_synced_first),
		TEST(an_exec_is_synced_with_its_libraries),
		TEST(a_process_that_does_not_answer_is_as_new_when_it_does),
		TEST(what_was_never_sampled_is_forgotten_at_its_end),
		TEST(what_was_sampled_is_looked_for_after_its_end),
		TEST(a_sampled_exec_is_not_looked_at_before_its_libraries_are_mapped),
		TEST(what_is_gone_is_looked_at_when_all_is_known),
		TEST(a_program_that_ran_another_is_looked_at_too),
		TEST(endless_mapping_does_not_put_publishing_off_for_ever),
		TEST(several_mappings_make_one_sync),
		TEST(an_address_that_stays_unknown_is_asked_for_ever_more_rarely),
		TEST(an_exec_takes_the_old_entry_away),
		TEST(an_ended_process_stays_for_late_samples_and_then_goes),
		TEST(a_reused_pid_is_another_process),
		TEST(a_missing_entry_is_written_again_but_not_while_it_is_fresh),
		TEST(lost_events_sync_everything_and_arm_every_process_event),
		TEST(losing_events_on_and_on_does_not_sync_everything_on_and_on),
		TEST(only_selected_processes_are_read_before_they_are_sampled),
		TEST(a_process_without_maps_has_ended),
		TEST(a_process_whose_exit_was_not_told_goes),
		TEST(repeated_syncs_that_cost_too_much_are_spaced_out),
		TEST(a_replaced_file_is_looked_at_soon_but_not_one_that_is_replaced_on_and_on),
		TEST(a_program_that_execs_on_and_on_is_not_remembered_on_and_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
