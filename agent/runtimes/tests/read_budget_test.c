/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "agent/runtimes/read_budget.h"
#include "lib/base/clock.h"

static uint32_t source_reads;

static int read_source(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	(void)memory;
	(void)address;
	(void)buffer;
	(void)bytes;
	source_reads++;
	return 0;
}

static struct remote_memory source = { .ops = &(const struct remote_memory_ops){
					       .read = read_source } };

/* Reads @bytes repeatedly until that fails; returns the number of reads. */
static uint32_t reads_until_refused(struct read_budget *budget, size_t bytes)
{
	static uint8_t buffer[READ_BUDGET_STACK_BYTES];
	struct budgeted_memory memory;
	uint32_t count = 0;
	int err;

	source_reads = 0;
	budgeted_memory_init(&memory, &source, budget);
	while (!(err = remote_memory_read(&memory.memory, 0, buffer, bytes)))
		count++;
	assert_int_equal(err, -EAGAIN);
	assert_int_equal(source_reads, count);
	return count;
}

static void a_stack_costs_so_much_reading_and_no_more(void **state)
{
	struct read_budget budget = { 0 };
	uint32_t small, large;

	(void)state;
	read_budget_begin_stack(&budget, NS_PER_SECOND);
	small = reads_until_refused(&budget, 1);
	assert_in_range(small, 1000, READ_BUDGET_STACK_BYTES / READ_BUDGET_PER_READ);
	/* The next stack has the full budget again; bytes count, too. */
	read_budget_begin_stack(&budget, NS_PER_SECOND);
	large = reads_until_refused(&budget, 1 << 20);
	assert_in_range(large, 1, READ_BUDGET_STACK_BYTES >> 20);
	read_budget_begin_stack(&budget, NS_PER_SECOND);
	assert_int_equal(reads_until_refused(&budget, SIZE_MAX), 0);
	assert_int_equal(reads_until_refused(&budget, READ_BUDGET_STACK_BYTES), 0);
}

static void a_process_that_used_up_its_share_has_to_wait(void **state)
{
	const uint64_t start_ns = 100 * NS_PER_SECOND;
	struct read_budget budget = { 0 };
	uint32_t stacks = 0, whole;

	(void)state;
	for (;; stacks++) {
		read_budget_begin_stack(&budget, start_ns);
		if (!reads_until_refused(&budget, 4096))
			break;
		assert_true(stacks < 1000);
	}
	assert_true(stacks >= READ_BUDGET_BURST_BYTES / READ_BUDGET_STACK_BYTES);
	/* 400 ms are a stack and a half. */
	whole = READ_BUDGET_STACK_BYTES / (4096 + READ_BUDGET_PER_READ);
	read_budget_begin_stack(&budget, start_ns + 400 * NS_PER_MS);
	assert_in_range(reads_until_refused(&budget, 4096), whole - 1, whole);
	read_budget_begin_stack(&budget, start_ns + 400 * NS_PER_MS);
	assert_in_range(reads_until_refused(&budget, 4096), 1, whole - 2);
	read_budget_begin_stack(&budget, start_ns + 400 * NS_PER_MS);
	assert_int_equal(reads_until_refused(&budget, 4096), 0);
	/* After a while it has its full budget again, and not more. */
	read_budget_begin_stack(&budget, UINT64_MAX);
	assert_int_equal(budget.spent, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_costs_so_much_reading_and_no_more),
		cmocka_unit_test(a_process_that_used_up_its_share_has_to_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
