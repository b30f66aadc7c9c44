/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/runtimes/attach_pace.h"
#include "agent/processes/runtimes/tests/attachments_fixture.h"

#include <sys/resource.h>

#include "agent/processes/runtimes/executable_runtime.h"

static void a_process_that_maps_a_runtime_is_attached_to(void **state)
{
	struct fixture *fixture = *state;
	struct published_runtime list[RUNTIMES_MAX];
	struct process *process = language_fixture_add(&fixture->base, 7);
	struct process_view view;

	map(fixture, process, fixture->base.other, 0x10000);
	attachments_update(&fixture->attachments, process, 1000);
	assert_int_equal(fixture->request_count, 0);
	map(fixture, process, fixture->base.runtime, 0x20000);
	attachments_update(&fixture->attachments, process, 1000);
	assert_int_equal(fixture->request_count, 1);
	assert_true(attachments_are_pending(&fixture->attachments));
	assert_int_equal(attachments_list(process, list), 0);
	/* Nothing new: nothing more is asked. */
	attachments_update(&fixture->attachments, process, 2000);
	assert_int_equal(fixture->request_count, 1);

	assert_int_equal(answer(fixture, 3000), 0);
	assert_int_equal(fixture->changed_count, 1);
	assert_ptr_equal(fixture->changed[0], process);
	assert_int_equal(fake_language.pid, 7);
	assert_int_equal(fake_language.module_count, 2);
	assert_int_equal(fake_language.bias, 0x20000);
	assert_int_equal(attachments_list(process, list), 1);
	assert_int_equal(list[0].executable_id, fixture->base.runtime->id);
	assert_int_equal(list[0].language, FAKE_KIND);
	assert_int_equal(list[0].data_bytes, 32);
	assert_int_equal(*(const uint64_t *)list[0].data, 7);
	assert_int_equal(metrics_read(METRIC_INTERPRETERS_ATTACHED), 1);
	process_table_view(&fixture->base.table, 7, &process->identity, 4000, &view);
	assert_int_equal(view.runtimes->count, 1);
	process_view_release(&fixture->base.table, &view);
	drop(fixture, process);
	assert_int_equal(fake_language.detach_count, 1);
	assert_int_equal(metrics_read(METRIC_INTERPRETERS_ATTACHED), 0);
}

static void a_runtime_that_may_grow_is_attached_to_again_a_few_times(void **state)
{
	struct fixture *fixture = *state;
	struct published_runtime list[RUNTIMES_MAX];
	uint64_t now_ns = 1000;
	struct process *process;
	uint32_t times = 0;

	fake_language.may_grow = true;
	process = add_attached(fixture, 7, now_ns);
	/* It stays what it is while it is looked at again, */
	now_ns = attachments_next_due(&fixture->attachments);
	assert_int_equal(now_ns, 1000 + 200 * NS_PER_MS);
	attachments_run_due(&fixture->attachments, now_ns);
	assert_int_equal(fixture->request_count, 1);
	assert_int_equal(attachments_list(process, list), 1);
	/* when there is nothing new, */
	assert_int_equal(answer(fixture, now_ns), 0);
	assert_int_equal(fixture->changed_count, 0);
	assert_int_equal(fake_language.detach_count, 1);
	/* and when that fails. */
	while (!fixture->request_count) {
		now_ns = attachments_next_due(&fixture->attachments);
		attachments_run_due(&fixture->attachments, now_ns);
	}
	fake_language.attach_err = -EFAULT;
	assert_int_equal(answer(fixture, now_ns), -EFAULT);
	assert_int_equal(fixture->changed_count, 0);
	assert_int_equal(attachments_list(process, list), 1);
	/* A new runtime is published. */
	fake_language.attach_err = 0;
	fake_language.growth = 5;
	while (!fixture->request_count) {
		now_ns = attachments_next_due(&fixture->attachments);
		attachments_run_due(&fixture->attachments, now_ns);
	}
	assert_int_equal(answer(fixture, now_ns), 0);
	assert_int_equal(fixture->changed_count, 1);
	assert_ptr_equal(fixture->changed[0], process);
	assert_int_equal(attachments_list(process, list), 1);
	assert_int_equal(((const uint64_t *)list[0].data)[1], 5);
	assert_int_equal(fake_language.detach_count, 2);
	assert_int_equal(metrics_read(METRIC_INTERPRETERS_ATTACHED), 1);
	while (attachments_next_due(&fixture->attachments) != UINT64_MAX) {
		now_ns = attachments_next_due(&fixture->attachments);
		attachments_run_due(&fixture->attachments, now_ns);
		if (!fixture->request_count)
			continue;
		assert_int_equal(answer(fixture, now_ns), 0);
		times++;
	}
	assert_int_equal(times, 3);
	drop(fixture, process);
}

static void a_runtime_of_which_nothing_is_read_is_attached_to_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = language_fixture_add(&fixture->base, 7);
	struct process *late = language_fixture_add(&fixture->base, 8);
	struct published_runtime list[RUNTIMES_MAX];
	struct process_view view;

	((struct runtime_file *)executable_runtime(fixture->base.runtime))->attaches_at_once = true;
	map(fixture, process, fixture->base.runtime, 0x20000);
	attachments_update(&fixture->attachments, process, 1000);
	assert_int_equal(fixture->request_count, 0);
	assert_int_equal(attachments_list(process, list), 1);
	process_table_view(&fixture->base.table, 7, &process->identity, 4000, &view);
	assert_int_equal(view.runtimes->count, 1);
	process_view_release(&fixture->base.table, &view);
	/* Nobody publishes the process here. */
	map(fixture, late, fixture->base.runtime, 0x20000);
	attachments_update_all(&fixture->attachments, 2000);
	assert_int_equal(fixture->request_count, 1);
	assert_int_equal(answer(fixture, 3000), 0);
	drop(fixture, late);
	/* After a failure, a load thread tries again. */
	late = language_fixture_add(&fixture->base, 9);
	fake_language.attach_err = -EAGAIN;
	map(fixture, late, fixture->base.runtime, 0x20000);
	attachments_update(&fixture->attachments, late, 4000);
	assert_int_equal(fixture->request_count, 1);
	assert_int_equal(attachments_list(late, list), 0);
	drop(fixture, late);
	drop(fixture, process);
	assert_int_equal(fake_language.attach_count, fake_language.detach_count + 1);
}

static void who_looks_at_a_runtime_keeps_it(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add_attached(fixture, 7, 1000);
	struct process_view view;

	process_table_view(&fixture->base.table, 7, &process->identity, 4000, &view);
	drop(fixture, process);
	assert_int_equal(fake_language.detach_count, 0);
	process_view_release(&fixture->base.table, &view);
	assert_int_equal(fake_language.detach_count, 1);
}

static void a_runtime_that_is_not_ready_is_tried_again_ever_more_rarely(void **state)
{
	static const uint64_t pauses_ms[] = {
		5, 20, 80, 320, 1000, 5000, 20000, 60000, 60000, 60000
	};
	struct fixture *fixture = *state;
	struct process *process = language_fixture_add(&fixture->base, 7);
	uint64_t now_ns = NS_PER_SECOND;

	fake_language.attach_err = -EAGAIN;
	map(fixture, process, fixture->base.runtime, 0x20000);
	attachments_update(&fixture->attachments, process, now_ns);
	for (uint32_t i = 0; i < sizeof(pauses_ms) / sizeof(pauses_ms[0]); i++) {
		assert_int_equal(answer(fixture, now_ns), -EAGAIN);
		assert_int_equal(fixture->changed_count, 0);
		now_ns += pauses_ms[i] * NS_PER_MS;
		assert_true(attachments_next_due(&fixture->attachments) <= now_ns);
		attachments_run_due(&fixture->attachments, now_ns - 1);
		assert_int_equal(fixture->request_count, 0);
		attachments_run_due(&fixture->attachments, now_ns);
		assert_int_equal(fixture->request_count, 1);
	}
	fake_language.attach_err = 0;
	assert_int_equal(answer(fixture, now_ns), 0);
	assert_int_equal(fixture->changed_count, 1);
	drop(fixture, process);
}

static void a_change_of_the_mappings_hastens_the_next_try(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = language_fixture_add(&fixture->base, 7);
	uint64_t now_ns = NS_PER_SECOND;

	fake_language.attach_err = -EAGAIN;
	map(fixture, process, fixture->base.runtime, 0x20000);
	attachments_update(&fixture->attachments, process, now_ns);
	for (uint32_t i = 0; i < 6; i++) {
		answer(fixture, now_ns);
		now_ns = attachments_next_due(&fixture->attachments);
		attachments_run_due(&fixture->attachments, now_ns);
	}
	answer(fixture, now_ns);
	now_ns += 10 * NS_PER_SECOND;
	attachments_run_due(&fixture->attachments, now_ns);
	assert_int_equal(fixture->request_count, 0);
	attachments_update(&fixture->attachments, process, now_ns);
	now_ns += 5 * NS_PER_MS;
	assert_int_equal(attachments_next_due(&fixture->attachments), now_ns);
	attachments_run_due(&fixture->attachments, now_ns);
	answer(fixture, now_ns);
	/* But not at once, when it was tried just before. */
	attachments_update(&fixture->attachments, process, now_ns + NS_PER_MS);
	assert_int_equal(attachments_next_due(&fixture->attachments), now_ns + 50 * NS_PER_MS);
	attachments_run_due(&fixture->attachments, now_ns + 50 * NS_PER_MS);
	assert_int_equal(fixture->request_count, 1);
	answer(fixture, now_ns + 50 * NS_PER_MS);
	drop(fixture, process);
}

static void mappings_that_change_all_the_time_hasten_ever_less(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = language_fixture_add(&fixture->base, 7);
	uint64_t now_ns = NS_PER_SECOND, pause_ns = 0, last_ns = 0;

	fake_language.attach_err = -EAGAIN;
	map(fixture, process, fixture->base.runtime, 0x20000);
	attachments_update(&fixture->attachments, process, now_ns);
	for (uint32_t i = 0; i < 120; i++) {
		answer(fixture, now_ns);
		attachments_update(&fixture->attachments, process, now_ns + NS_PER_MS);
		last_ns = now_ns;
		while (!fixture->request_count) {
			now_ns = attachments_next_due(&fixture->attachments);
			attachments_run_due(&fixture->attachments, now_ns);
		}
		/* The first pauses of its own are shorter. */
		assert_true(now_ns - last_ns <= 50 * NS_PER_MS || now_ns - last_ns >= pause_ns);
		pause_ns = now_ns - last_ns;
		assert_true(i > 12 || pause_ns <= 50 * NS_PER_MS);
	}
	assert_int_equal(pause_ns, 3200 * NS_PER_MS);
	answer(fixture, now_ns);
	drop(fixture, process);
}

static void a_runtime_that_is_refused_is_asked_no_more(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = language_fixture_add(&fixture->base, 7);
	struct process *another = language_fixture_add(&fixture->base, 8);

	fake_language.attach_err = -EOPNOTSUPP;
	map(fixture, process, fixture->base.runtime, 0x20000);
	map(fixture, another, fixture->base.runtime, 0x20000);
	attachments_update(&fixture->attachments, process, 1000);
	attachments_update(&fixture->attachments, another, 1000);
	answer(fixture, 1000);
	answer(fixture, 1000);
	attachments_update(&fixture->attachments, process, NS_PER_SECOND);
	attachments_run_due(&fixture->attachments, 1000 * NS_PER_SECOND);
	assert_int_equal(fixture->request_count, 0);
	/* One file, one line. */
	assert_int_equal(metrics_read(METRIC_INTERPRETERS_REFUSED), 1);
	drop(fixture, process);
	drop(fixture, another);
}

static void memory_that_makes_no_sense_may_do_so_soon(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = language_fixture_add(&fixture->base, 7);
	struct process *another = language_fixture_add(&fixture->base, 8);
	uint64_t now_ns = 1000;

	fake_language.attach_err = -EBADMSG;
	map(fixture, process, fixture->base.runtime, 0x20000);
	attachments_update(&fixture->attachments, process, now_ns);
	for (int i = 0; i < ATTACH_EARLY_TRIES; i++) {
		assert_int_equal(answer(fixture, now_ns), -EBADMSG);
		assert_int_equal(metrics_read(METRIC_INTERPRETERS_REFUSED), 0);
		now_ns += attach_pace_pause_ns((uint32_t)i);
		attachments_run_due(&fixture->attachments, now_ns);
		assert_int_equal(fixture->request_count, 1);
	}
	assert_true(now_ns < 1500 * NS_PER_MS);
	assert_int_equal(answer(fixture, now_ns), -EBADMSG);
	assert_int_equal(metrics_read(METRIC_INTERPRETERS_REFUSED), 1);
	attachments_run_due(&fixture->attachments, 1000 * NS_PER_SECOND);
	assert_int_equal(fixture->request_count, 0);
	/* Another process with the file has one try. */
	map(fixture, another, fixture->base.runtime, 0x20000);
	attachments_update(&fixture->attachments, another, now_ns);
	answer(fixture, now_ns);
	attachments_run_due(&fixture->attachments, 1000 * NS_PER_SECOND);
	assert_int_equal(fixture->request_count, 0);
	drop(fixture, process);
	drop(fixture, another);
}

static void a_process_that_is_gone_is_silent(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = language_fixture_add(&fixture->base, 7);
	char path[128];

	map(fixture, process, fixture->base.runtime, 0x20000);
	attachments_update(&fixture->attachments, process, 1000);
	snprintf(path, sizeof(path), "%s/7/stat", fixture->base.proc.root);
	unlink(path);
	assert_int_equal(answer(fixture, 1000), -ESRCH);
	assert_int_equal(fixture->changed_count, 0);
	assert_int_equal(fake_language.attach_count, 0);
	assert_int_equal(metrics_read(METRIC_INTERPRETERS_REFUSED), 0);
	attachments_run_due(&fixture->attachments, 1000 * NS_PER_SECOND);
	assert_int_equal(fixture->request_count, 0);
	drop(fixture, process);
}

static void an_answer_that_comes_too_late_is_let_go(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = language_fixture_add(&fixture->base, 7);

	map(fixture, process, fixture->base.runtime, 0x20000);
	attachments_update(&fixture->attachments, process, 1000);
	process_table_end(&fixture->base.table, process, 2000);
	assert_int_equal(answer(fixture, 3000), 0);
	assert_int_equal(fixture->changed_count, 0);
	assert_int_equal(fake_language.detach_count, 1);
	drop(fixture, process);

	/* Nor is it taken for another program in the same pid. */
	process = language_fixture_add(&fixture->base, 8);
	map(fixture, process, fixture->base.runtime, 0x20000);
	attachments_update(&fixture->attachments, process, 1000);
	drop(fixture, process);
	assert_int_equal(answer(fixture, 3000), 0);
	assert_int_equal(fixture->changed_count, 0);
	assert_int_equal(fake_language.detach_count, 2);
}

static void an_answer_that_never_comes_is_asked_for_again(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = language_fixture_add(&fixture->base, 7);

	map(fixture, process, fixture->base.runtime, 0x20000);
	attachments_update(&fixture->attachments, process, 1000);
	attachments_run_due(&fixture->attachments, attachments_next_due(&fixture->attachments));
	assert_int_equal(fixture->request_count, 2);
	assert_int_equal(answer(fixture, 1000), 0);
	assert_int_equal(fixture->changed_count, 1);
	/* The second changes nothing. */
	assert_int_equal(answer(fixture, 1000), 0);
	assert_int_equal(fixture->changed_count, 0);
	assert_int_equal(fake_language.detach_count, 1);
	drop(fixture, process);
	assert_int_equal(fake_language.detach_count, 2);
}

static void what_is_not_mapped_any_more_is_let_go(void **state)
{
	struct fixture *fixture = *state;
	struct published_runtime list[RUNTIMES_MAX];
	struct process *process = add_attached(fixture, 7, 1000);

	unmap(fixture, process);
	attachments_update(&fixture->attachments, process, 2000);
	assert_int_equal(attachments_list(process, list), 0);
	assert_int_equal(fake_language.detach_count, 1);
	map(fixture, process, fixture->base.runtime, 0x70000);
	attachments_update(&fixture->attachments, process, 3000);
	assert_int_equal(answer(fixture, 3000), 0);
	assert_int_equal(attachments_list(process, list), 1);
	/* The runtime moved, and the old attachment is not valid at the new address. */
	unmap(fixture, process);
	map(fixture, process, fixture->base.runtime, 0x80000);
	attachments_update(&fixture->attachments, process, 4000);
	assert_int_equal(attachments_list(process, list), 0);
	assert_int_equal(answer(fixture, 4000), 0);
	assert_int_equal(fake_language.bias, 0x80000);
	drop(fixture, process);
}

static void a_runtime_found_later_is_attached_to_in_who_maps_it_already(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = language_fixture_add(&fixture->base, 7);
	struct process *ended = language_fixture_add(&fixture->base, 8);
	const struct runtime_file *file = fixture->base.runtime->runtime_file;

	fixture->base.runtime->runtime_file = NULL;
	map(fixture, process, fixture->base.runtime, 0x10000);
	map(fixture, ended, fixture->base.runtime, 0x10000);
	attachments_update(&fixture->attachments, process, 1000);
	attachments_update(&fixture->attachments, ended, 1000);
	process_table_end(&fixture->base.table, ended, 1000);
	assert_int_equal(fixture->request_count, 0);
	fixture->base.runtime->runtime_file = file;
	attachments_update_all(&fixture->attachments, 2000);
	assert_int_equal(fixture->request_count, 1);
	assert_int_equal(answer(fixture, 3000), 0);
	assert_ptr_equal(fixture->changed[0], process);
	drop(fixture, process);
	drop(fixture, ended);
}

static void above_the_limit_who_was_not_sampled_for_longest_is_let_go(void **state)
{
	struct rlimit limit;
	struct fixture *fixture = *state;
	struct process **processes = calloc(ATTACHMENTS_MAX + 1, sizeof(*processes));
	struct published_runtime list[RUNTIMES_MAX];
	struct process *gone;
	struct process_view view;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_max < 2 * ATTACHMENTS_MAX || setrlimit(RLIMIT_NOFILE, &limit)) {
		free(processes);
		print_message("too few open files are allowed here\n");
		skip();
	}
	for (uint32_t i = 0; i < ATTACHMENTS_MAX; i++) {
		processes[i] = add_attached(fixture, i + 1, 1000);
		process_table_view(&fixture->base.table, i + 1, &processes[i]->identity,
				   i == 500 ? 4000 : 5000, &view);
		process_view_release(&fixture->base.table, &view);
	}
	/* A process that only uses its parent's runtimes has none to release. */
	gone = language_fixture_add(&fixture->base, ATTACHMENTS_MAX + 2);
	attachments_lend(&fixture->attachments, gone, processes[0]);
	processes[ATTACHMENTS_MAX] = add_attached(fixture, ATTACHMENTS_MAX + 1, 1000);
	assert_int_equal(fixture->changed_count, 2);
	assert_ptr_equal(fixture->changed[0], processes[500]);
	assert_ptr_equal(fixture->changed[1], processes[ATTACHMENTS_MAX]);
	assert_int_equal(attachments_list(processes[500], list), 0);
	assert_int_equal(fixture->attachments.attached_count, ATTACHMENTS_MAX);
	assert_int_equal(metrics_read(METRIC_INTERPRETERS_DETACHED), 1);
	/* Its turn comes again. */
	attachments_run_due(&fixture->attachments, 1000 + 60 * NS_PER_SECOND);
	for (uint32_t i = 0; i <= ATTACHMENTS_MAX; i++)
		drop(fixture, processes[i]);
	drop(fixture, gone);
	free(processes);
	assert_int_equal(fixture->request_count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void what_was_lost_is_attached_to_again_while_its_data_stay(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add_attached(fixture, 7, 1000);
	struct published_runtime list[RUNTIMES_MAX];
	struct local_home *home = &fixture->base.home;

	local_home_lose(home);
	assert_int_equal(name_one(process->runtimes->runtimes[0], 0x50), -ENOTCONN);
	attachments_note_lost(&fixture->attachments, 0, 2000);
	assert_int_equal(attachments_list(process, list), 1);
	assert_int_equal(fixture->request_count, 1);
	assert_int_equal(answer(fixture, 3000), 0);
	assert_int_equal(fixture->changed_count, 1);
	assert_ptr_equal(fixture->changed[0], process);
	assert_int_equal(name_one(process->runtimes->runtimes[0], 0x50), 0);
	/* Nothing is lost now. */
	attachments_note_lost(&fixture->attachments, 0, 4000);
	assert_int_equal(fixture->request_count, 0);
	drop(fixture, process);
}

static void what_is_not_ready_when_it_was_lost_is_tried_again(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add_attached(fixture, 7, 1000);
	struct published_runtime list[RUNTIMES_MAX];

	local_home_lose(&fixture->base.home);
	attachments_note_lost(&fixture->attachments, 0, 2000);
	fake_language.attach_err = -EAGAIN;
	assert_int_equal(answer(fixture, 3000), -EAGAIN);
	assert_int_equal(attachments_list(process, list), 1);
	fake_language.attach_err = 0;
	attachments_run_due(&fixture->attachments, 3000 + NS_PER_SECOND);
	assert_int_equal(answer(fixture, 4000 + NS_PER_SECOND), 0);
	assert_int_equal(name_one(process->runtimes->runtimes[0], 0x50), 0);
	drop(fixture, process);
}

static void
a_process_whose_memory_does_not_answer_is_asked_again_later_and_others_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct process *hanging = add_attached(fixture, 7, 1000);
	struct process *other = add_attached(fixture, 8, 1000);
	struct published_runtime list[RUNTIMES_MAX];

	fixture->base.home.hanging_pid = 7;
	assert_int_equal(name_one(hanging->runtimes->runtimes[0], 0x50), -EHOSTDOWN);
	attachments_note_lost(&fixture->attachments, 7, 2000);
	/* Two answers may tell of the same hang. */
	attachments_note_lost(&fixture->attachments, 7, 2000);
	assert_int_equal(hanging->hanging_until_ns, 2000 + 10 * NS_PER_SECOND);
	assert_int_equal(other->hanging_until_ns, 0);
	assert_int_equal(fixture->request_count, 1);
	assert_int_equal(fixture->requests[0]->pid, 8);
	assert_int_equal(answer(fixture, 3000), 0);
	assert_int_equal(name_one(other->runtimes->runtimes[0], 0x50), 0);
	/* The kernel side finds its frames still, and nobody asks again for some time. */
	assert_int_equal(attachments_list(hanging, list), 1);
	attachments_run_due(&fixture->attachments, 10 * NS_PER_SECOND);
	assert_int_equal(fixture->request_count, 0);
	assert_int_equal(name_one(hanging->runtimes->runtimes[0], 0x50), -EHOSTDOWN);
	/* The pause doubles. */
	attachments_run_due(&fixture->attachments, 11 * NS_PER_SECOND);
	assert_int_equal(answer(fixture, 11 * NS_PER_SECOND), -EHOSTDOWN);
	assert_int_equal(hanging->hanging_until_ns, 31 * NS_PER_SECOND);
	fixture->base.home.hanging_pid = 0;
	attachments_run_due(&fixture->attachments, 30 * NS_PER_SECOND);
	assert_int_equal(fixture->request_count, 0);
	attachments_run_due(&fixture->attachments, 31 * NS_PER_SECOND);
	assert_int_equal(answer(fixture, 32 * NS_PER_SECOND), 0);
	assert_int_equal(name_one(hanging->runtimes->runtimes[0], 0x50), 0);
	drop(fixture, hanging);
	drop(fixture, other);
}

static void a_process_that_does_not_answer_when_it_is_attached_to_is_asked_again_later(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = language_fixture_add(&fixture->base, 7);

	fixture->base.home.hanging_pid = 7;
	map(fixture, process, fixture->base.runtime, 0x10000);
	attachments_update(&fixture->attachments, process, 1000);
	assert_int_equal(answer(fixture, 2000), -EHOSTDOWN);
	attachments_run_due(&fixture->attachments, 10 * NS_PER_SECOND);
	assert_int_equal(fixture->request_count, 0);
	fixture->base.home.hanging_pid = 0;
	attachments_run_due(&fixture->attachments, 11 * NS_PER_SECOND);
	assert_int_equal(answer(fixture, 12 * NS_PER_SECOND), 0);
	drop(fixture, process);
}

static void a_runtime_that_was_lost_before_its_answer_came_is_asked_for_again(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = language_fixture_add(&fixture->base, 7);
	struct attach_request *request;
	struct attach_answer attached = { .pid = 7 };

	map(fixture, process, fixture->base.runtime, 0x10000);
	attachments_update(&fixture->attachments, process, 1000);
	request = fixture->requests[0];
	fixture->request_count = 0;
	attached.identity = request->identity;
	attached.executable_id = request->executable->id;
	assert_int_equal(attach_request_run(request, fixture->base.proc.root,
					    &fixture->base.home.home, &attached.runtime),
			 0);
	attach_request_destroy(request, fixture->base.executables);
	local_home_lose(&fixture->base.home);
	attachments_note_lost(&fixture->attachments, 0, 1500);
	attachments_answer(&fixture->attachments, &attached, 2000, fixture->changed);
	attachments_run_due(&fixture->attachments, 2000 + NS_PER_SECOND);
	assert_int_equal(answer(fixture, 3000 + NS_PER_SECOND), 0);
	assert_int_equal(name_one(process->runtimes->runtimes[0], 0x50), 0);
	drop(fixture, process);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_that_maps_a_runtime_is_attached_to),
		TEST(a_runtime_that_may_grow_is_attached_to_again_a_few_times),
		TEST(a_runtime_of_which_nothing_is_read_is_attached_to_at_once),
		TEST(who_looks_at_a_runtime_keeps_it),
		TEST(a_runtime_that_is_not_ready_is_tried_again_ever_more_rarely),
		TEST(a_change_of_the_mappings_hastens_the_next_try),
		TEST(mappings_that_change_all_the_time_hasten_ever_less),
		TEST(a_runtime_that_is_refused_is_asked_no_more),
		TEST(memory_that_makes_no_sense_may_do_so_soon),
		TEST(a_process_that_is_gone_is_silent),
		TEST(an_answer_that_comes_too_late_is_let_go),
		TEST(an_answer_that_never_comes_is_asked_for_again),
		TEST(what_is_not_mapped_any_more_is_let_go),
		TEST(a_runtime_found_later_is_attached_to_in_who_maps_it_already),
		TEST(above_the_limit_who_was_not_sampled_for_longest_is_let_go),
		TEST(what_was_lost_is_attached_to_again_while_its_data_stay),
		TEST(what_is_not_ready_when_it_was_lost_is_tried_again),
		TEST(a_process_whose_memory_does_not_answer_is_asked_again_later_and_others_at_once),
		TEST(a_process_that_does_not_answer_when_it_is_attached_to_is_asked_again_later),
		TEST(a_runtime_that_was_lost_before_its_answer_came_is_asked_for_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
