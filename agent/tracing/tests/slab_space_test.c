/* SPDX-License-Identifier: Apache-2.0 */
/* Live: runs over real slabs, and the wait where membarrier(2) is refused, as with nohz_full. */
#include "agent/tracing/slab_space.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "agent/tracing/tests/live_maps.h"

enum { SLAB_COUNT = 3 };

struct fixture {
	int outer_fd;
	struct slab_space space;
};

static int set_up(void **state)
{
	static struct fixture fixture;

	fixture.outer_fd = live_slabs(SLAB_COUNT);
	*state = &fixture;
	if (fixture.outer_fd < 0)
		return 0;
	return slab_space_init(&fixture.space, fixture.outer_fd, SLAB_COUNT);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->outer_fd < 0)
		return 0;
	slab_space_deinit(&fixture->space);
	close(fixture->outer_fd);
	return 0;
}

static struct fixture *live(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->outer_fd < 0) {
		print_message("bpf(2) is refused here\n");
		skip();
	}
	return fixture;
}

/* Fills each cell with its own number and its owner. */
static void fill_with_numbers(void *context, struct cell *cells, struct cell_run run)
{
	for (uint32_t i = 0; i < run.count; i++)
		cells[i] = (struct cell){ { run.first + i, *(uint64_t *)context } };
}

static void check_run(const struct fixture *fixture, struct cell_run run, uint64_t owner)
{
	for (uint32_t number = run.first; number < run.first + run.count; number++) {
		uint32_t slab = number >> SLAB_SHIFT, index = number & (SLAB_CELLS - 1), id;
		struct cell cell;
		int fd;

		/* All at the ends of slabs and runs, some between. */
		if (index > 2 && index < SLAB_CELLS - 3 && number > run.first + 2 &&
		    number + 3 < run.first + run.count && number % 4999)
			continue;
		assert_int_equal(bpf_map_lookup_elem(fixture->outer_fd, &slab, &id), 0);
		fd = bpf_map_get_fd_by_id(id);
		assert_int_equal(bpf_map_lookup_elem(fd, &index, &cell), 0);
		close(fd);
		assert_int_equal(cell.words[0], number);
		assert_int_equal(cell.words[1], owner);
	}
}

static void runs_hold_what_was_written_and_leave_their_neighbours_alone(void **state)
{
	struct fixture *fixture = live(state);
	/* Small, a page and its neighbours, across one border, across two. */
	const uint32_t counts[] = { 1, 3, 255, 256, 257, SLAB_CELLS, SLAB_CELLS + 5 };
	struct cell_run runs[sizeof(counts) / sizeof(counts[0])];
	const size_t count = sizeof(counts) / sizeof(counts[0]);

	for (size_t i = 0; i < count; i++) {
		uint64_t owner = i;

		assert_int_equal(slab_space_add(&fixture->space, counts[i], fill_with_numbers,
						&owner, &runs[i]),
				 0);
		assert_int_equal(runs[i].count, counts[i]);
	}
	for (size_t i = 0; i < count; i++)
		check_run(fixture, runs[i], i);
	/* A new run is written to the space of a removed one. */
	slab_space_remove(&fixture->space, runs[5]);
	for (size_t i = 0; i < 4; i++) {
		uint64_t owner = 100 + i;

		assert_int_equal(slab_space_add(&fixture->space, SLAB_CELLS / 4, fill_with_numbers,
						&owner, &runs[5]),
				 0);
		check_run(fixture, runs[5], 100 + i);
	}
	for (size_t i = 0; i < count; i++) {
		if (i != 5)
			check_run(fixture, runs[i], i);
	}
}

static void more_than_all_slabs_is_refused(void **state)
{
	struct fixture *fixture = live(state);
	struct cell_run run;
	uint64_t owner = 1;

	assert_int_equal(slab_space_add(&fixture->space, SLAB_COUNT * SLAB_CELLS, fill_with_numbers,
					&owner, &run),
			 -ENOSPC);
	assert_int_equal(slab_space_add(&fixture->space, SLAB_COUNT * SLAB_CELLS - 1,
					fill_with_numbers, &owner, &run),
			 0);
	check_run(fixture, run, 1);
}

static void refuse_membarrier(void)
{
	struct sock_filter instructions[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(instructions) / sizeof(instructions[0]),
		.filter = instructions,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(2);
}

static void without_membarrier_the_wait_works_and_slab_0_stays(void **state)
{
	struct fixture *fixture = live(state);
	struct cell_run run;
	uint64_t owner = 7;
	int status;
	pid_t child;

	assert_int_equal(slab_space_wait_for_readers(&fixture->space), 0);
	assert_int_equal(slab_space_add(&fixture->space, 100, fill_with_numbers, &owner, &run), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		refuse_membarrier();
		if (syscall(SYS_membarrier, 0, 0, 0) != -1)
			_exit(3);
		_exit(slab_space_wait_for_readers(&fixture->space) ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	check_run(fixture, run, 7);
}

#define LIVE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE_TEST(runs_hold_what_was_written_and_leave_their_neighbours_alone),
		LIVE_TEST(more_than_all_slabs_is_refused),
		LIVE_TEST(without_membarrier_the_wait_works_and_slab_0_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
