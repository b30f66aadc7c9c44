/* SPDX-License-Identifier: Apache-2.0 */
/* Live: the kernel's events about a child that maps files and execs, and about a BPF program. */
#include "agent/tracing/side_band.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <cmocka.h>
#include <linux/bpf.h>

#include "lib/base/clock.h"

enum { LOG_EVENTS = 65536, MAPPED_BYTES = 3 * 4096 };

static struct {
	struct side_band_event event;
	char path[48];
} seen[LOG_EVENTS];
static uint32_t seen_count;

static void on_side_band(void *context, const struct side_band_event *event)
{
	(void)context;
	if (seen_count == LOG_EVENTS)
		return;
	seen[seen_count].event = *event;
	if (event->path)
		snprintf(seen[seen_count].path, sizeof(seen->path), "%s", event->path);
	seen_count++;
}

static const struct event_handler handler = { .side_band = on_side_band };

static struct side_band *open_or_skip(void)
{
	struct side_band *side_band;
	int err = side_band_create(&side_band);

	if (err == -EPERM || err == -EOPNOTSUPP) {
		print_message("perf events are refused here\n");
		skip();
	}
	assert_int_equal(err, 0);
	seen_count = 0;
	return side_band;
}

/* Forks a child that does @work and waits for it. */
static pid_t run_child(void (*work)(void *), void *argument)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		work(argument);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return child;
}

/* The first event of @type and @pid from @first on, -1 if there is none. */
static int find(enum side_band_type type, uint32_t pid, int first)
{
	for (uint32_t i = (uint32_t)first; i < seen_count; i++) {
		if (seen[i].event.type == type && seen[i].event.pid == pid)
			return (int)i;
	}
	return -1;
}

static void map_executable(void *address)
{
	void *data = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	void *code = mmap(address, MAPPED_BYTES, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (data == MAP_FAILED || code != address)
		_exit(1);
}

static void executable_mappings_are_told(void **state)
{
	struct side_band *side_band = open_or_skip();
	void *address = (void *)0x123450000000;
	uint64_t before_ns = clock_monotonic_ns();
	uint32_t child = (uint32_t)run_child(map_executable, address), count;
	int mapping_index;

	(void)state;
	count = side_band_drain(side_band, &handler);
	assert_int_equal(count, seen_count);
	mapping_index = find(SIDE_BAND_MAPPING, child, 0);
	assert_true(mapping_index >= 0);
	assert_int_equal(seen[mapping_index].event.start, (uintptr_t)address);
	assert_int_equal(seen[mapping_index].event.length, MAPPED_BYTES);
	assert_true(seen[mapping_index].event.time_ns > before_ns);
	assert_true(seen[mapping_index].event.time_ns < clock_monotonic_ns());
	/* The data mapping is not reported. */
	assert_int_equal(find(SIDE_BAND_MAPPING, child, mapping_index + 1), -1);
	side_band_destroy(side_band);
}

static void a_bpf_program_is_told_of_with_its_name(void **state)
{
	/* r0 = 0; exit */
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct side_band *side_band = open_or_skip();
	bool is_found = false;
	int program =
		bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "side_band_test", "GPL", code, 2, NULL);

	(void)state;
	if (program < 0) {
		side_band_destroy(side_band);
		print_message("no BPF program may be loaded here\n");
		skip();
	}
	close(program);
	side_band_drain(side_band, &handler);
	for (uint32_t i = 0; i < seen_count; i++) {
		const struct side_band_event *event = &seen[i].event;

		if (event->type != SIDE_BAND_KERNEL_CODE ||
		    !strstr(seen[i].path, "_side_band_test"))
			continue;
		assert_false(is_found);
		is_found = true;
		assert_int_equal(strncmp(seen[i].path, "bpf_prog_", 9), 0);
		assert_true(event->start >> 63);
		assert_true(event->length && event->length < 4096);
	}
	assert_true(is_found);
	side_band_destroy(side_band);
}

static void execute(void *argument)
{
	(void)argument;
	execl("/bin/true", "true", (char *)NULL);
}

static void files_are_told_as_fstat_has_them(void **state)
{
	struct side_band *side_band = open_or_skip();
	char program[PATH_MAX];
	struct stat status;
	uint32_t child;
	int index;

	(void)state;
	assert_non_null(realpath("/bin/true", program));
	assert_int_equal(stat(program, &status), 0);
	child = (uint32_t)run_child(execute, NULL);
	side_band_drain(side_band, &handler);
	index = find(SIDE_BAND_MAPPING, child, 0);
	assert_true(index >= 0);
	assert_int_equal(seen[index].event.inode, status.st_ino);
	assert_int_equal(seen[index].event.device_major, major(status.st_dev));
	assert_int_equal(seen[index].event.device_minor, minor(status.st_dev));
	assert_int_equal(strncmp(seen[index].path, program, sizeof(seen->path) - 1), 0);
	side_band_destroy(side_band);
}

static void map_many(void *argument)
{
	(void)argument;
	/* Far more than the ring of one CPU holds, each 120 bytes or more. */
	for (uint32_t i = 0; i < 8000; i++) {
		void *code =
			mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (code == MAP_FAILED)
			_exit(1);
		munmap(code, 4096);
	}
}

static void only_much_news_wakes(void **state)
{
	struct side_band *side_band = open_or_skip();
	struct pollfd pollfd = { .fd = side_band_fd(side_band), .events = POLLIN };

	(void)state;
	run_child(map_executable, (void *)0x123450000000);
	assert_int_equal(poll(&pollfd, 1, 0), 0);
	run_child(map_many, NULL);
	assert_int_equal(poll(&pollfd, 1, 60000), 1);
	assert_true(side_band_drain(side_band, &handler) > 0);
	side_band_destroy(side_band);
}

static void map_the_same(void *argument)
{
	for (uint32_t i = 0; i < 300; i++) {
		void *code = mmap(argument, 4096, PROT_READ | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

		if (code == MAP_FAILED)
			_exit(1);
	}
}

static void of_records_that_repeat_the_first_and_the_last_are_told(void **state)
{
	struct side_band *side_band = open_or_skip();
	uint64_t end_ns;
	uint32_t child;
	int first, last;

	(void)state;
	child = (uint32_t)run_child(map_the_same, (void *)0x123450000000);
	end_ns = clock_monotonic_ns();
	assert_true(side_band_drain(side_band, &handler) < 100);
	first = find(SIDE_BAND_MAPPING, child, 0);
	assert_true(first >= 0);
	last = find(SIDE_BAND_MAPPING, child, first + 1);
	assert_true(last >= 0);
	assert_true(seen[last].event.time_ns > seen[first].event.time_ns);
	assert_true(seen[last].event.time_ns < end_ns);
	assert_int_equal(seen[last].event.start, 0x123450000000);
	side_band_destroy(side_band);
}

static void a_full_ring_is_told_as_a_loss(void **state)
{
	struct side_band *side_band = open_or_skip();
	cpu_set_t cpus, one_cpu;
	uint32_t lost = 0;

	(void)state;
	/* The kernel writes the loss with the next record that fits, on that CPU. */
	assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
	CPU_ZERO(&one_cpu);
	CPU_SET(sched_getcpu(), &one_cpu);
	assert_int_equal(sched_setaffinity(0, sizeof one_cpu, &one_cpu), 0);
	run_child(map_many, NULL);
	side_band_drain(side_band, &handler);
	for (int i = 0; i < 20 && !lost; i++) {
		run_child(map_executable, (void *)0x123450000000);
		side_band_drain(side_band, &handler);
		for (uint32_t event = 0; event < seen_count; event++)
			lost += seen[event].event.type == SIDE_BAND_LOST;
	}
	assert_int_equal(sched_setaffinity(0, sizeof cpus, &cpus), 0);
	assert_true(lost > 0);
	side_band_destroy(side_band);
}

static void a_tick_without_changes_tells_nothing(void **state)
{
	struct side_band *side_band = open_or_skip();

	(void)state;
	assert_int_equal(side_band_tick(side_band, &handler), 0);
	/* Longer than an event may stand still. */
	usleep(700 * 1000);
	assert_int_equal(side_band_tick(side_band, &handler), 0);
	for (uint32_t i = 0; i < seen_count; i++)
		assert_int_not_equal(seen[i].event.type, SIDE_BAND_LOST);
	side_band_destroy(side_band);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(executable_mappings_are_told),
		cmocka_unit_test(a_bpf_program_is_told_of_with_its_name),
		cmocka_unit_test(files_are_told_as_fstat_has_them),
		cmocka_unit_test(only_much_news_wakes),
		cmocka_unit_test(of_records_that_repeat_the_first_and_the_last_are_told),
		cmocka_unit_test(a_full_ring_is_told_as_a_loss),
		cmocka_unit_test(a_tick_without_changes_tells_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
