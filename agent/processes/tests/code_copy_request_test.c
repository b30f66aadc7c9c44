/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/code_copy_request.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "stackdeltas/copied_code.h"

#ifdef __x86_64__
/* sub $40,%rsp; call *%rdi; add $40,%rsp; ret */
static const uint8_t function[] = {
	0x48, 0x83, 0xec, 0x28, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x28, 0xc3,
};
#else
/* stp x29,x30,[sp,#-16]!; mov x29,sp; blr x0; ldp x29,x30,[sp],#16; ret */
static const uint32_t function[] = { 0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0 };
#endif

enum { SIZE = 5 * COPIED_CODE_UNIT_BYTES, START = 0x7f0000 };

/* Memory of this process at START, as far as the test is concerned. */
struct memory_home {
	struct runtime_home home;
	uint8_t bytes[COPIED_CODE_MAX_BYTES];
	uint64_t size;
	uint32_t read_count;
	/* How long a read takes. */
	uint64_t delay_ns;
	uint32_t pid;
};

static int read_memory(struct runtime_home *home, uid_t uid, uint32_t pid, int fd,
		       const struct memory_part *parts, uint32_t count, void *bytes)
{
	struct memory_home *memory = (struct memory_home *)home;
	const struct timespec delay = { .tv_nsec = (long)memory->delay_ns };
	char *to = bytes;

	assert_int_equal(uid, getuid());
	assert_true(fd >= 0 && count <= HOME_READ_PARTS);
	memory->pid = pid;
	memory->read_count++;
	nanosleep(&delay, NULL);
	for (uint32_t i = 0; i < count; i++) {
		assert_true(parts[i].bytes && parts[i].bytes <= HOME_READ_BYTES);
		if (parts[i].address - START + parts[i].bytes > memory->size)
			return -EFAULT;
		memcpy(to, memory->bytes + (parts[i].address - START), parts[i].bytes);
		to += parts[i].bytes;
	}
	return 0;
}

static int set_up(void **state)
{
	static const struct runtime_home_ops ops = { .read = read_memory };
	struct memory_home *memory = calloc(1, sizeof(*memory));

	memory->home.ops = &ops;
	memory->size = SIZE;
	memcpy(memory->bytes + 16, function, sizeof(function));
	*state = memory;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static struct code_copy_answer run(struct memory_home *memory, uint64_t bytes, struct hash128 known)
{
	const struct code_copy_request request = {
		.code = { .pid = (uint32_t)getpid(),
			  .identity = { 5, 6 },
			  .start = START,
			  .bytes = bytes },
		.known = known,
	};
	struct code_copy_answer answer;

	code_copy_request_run(&request, "/proc", &memory->home, NULL, &answer);
	assert_int_equal(answer.code.pid, getpid());
	assert_int_equal(answer.code.identity.start_time_ns, 5);
	assert_int_equal(answer.code.start, START);
	assert_int_equal(answer.code.bytes, bytes);
	return answer;
}

static const struct hash128 nothing;

static void a_copy_has_rows_for_exactly_its_range(void **state)
{
	struct memory_home *memory = *state;
	struct code_copy_answer answer = run(memory, SIZE, nothing);

	assert_int_equal(answer.err, 0);
	assert_false(answer.is_unchanged);
	assert_int_equal(memory->pid, getpid());
	assert_int_equal(answer.deltas.text_start, START);
	assert_int_equal(answer.deltas.page_count, SIZE / UNWIND_PAGE_BYTES);
	assert_non_null(answer.deltas.checks);
	assert_int_not_equal(stack_deltas_lookup(&answer.deltas, START + 16 + 4)->cfa, CFA_NONE);
	stack_deltas_deinit(&answer.deltas);
}

static void a_large_copy_takes_several_reads(void **state)
{
	struct memory_home *memory = *state;
	struct code_copy_answer answer;

	memory->size = COPIED_CODE_MAX_BYTES;
	/* The last bytes count too. */
	memcpy(memory->bytes + COPIED_CODE_MAX_BYTES - 64, function, sizeof(function));
	answer = run(memory, COPIED_CODE_MAX_BYTES, nothing);
	assert_int_equal(answer.err, 0);
	assert_int_equal(memory->read_count,
			 COPIED_CODE_MAX_BYTES / (HOME_READ_PARTS * HOME_READ_BYTES));
	assert_int_not_equal(
		stack_deltas_lookup(&answer.deltas, START + COPIED_CODE_MAX_BYTES - 64 + 4)->cfa,
		CFA_NONE);
	stack_deltas_deinit(&answer.deltas);
}

static void content_that_is_known_is_not_analysed(void **state)
{
	struct memory_home *memory = *state;
	struct code_copy_answer first = run(memory, SIZE, nothing), second;

	second = run(memory, SIZE, first.content);
	assert_int_equal(second.err, 0);
	assert_true(second.is_unchanged);
	assert_null(second.deltas.rows);
	memory->bytes[SIZE - 1]++;
	second = run(memory, SIZE, first.content);
	assert_false(second.is_unchanged);
	assert_non_null(second.deltas.rows);
	stack_deltas_deinit(&first.deltas);
	stack_deltas_deinit(&second.deltas);
}

static void memory_that_cannot_be_read_is_an_error(void **state)
{
	struct memory_home *memory = *state;

	memory->size = SIZE - 1;
	assert_int_equal(run(memory, SIZE, nothing).err, -EFAULT);
}

static void only_ranges_of_copies_are_read(void **state)
{
	struct memory_home *memory = *state;

	assert_int_equal(run(memory, SIZE - 1, nothing).err, -EINVAL);
	assert_int_equal(run(memory, 0, nothing).err, -EINVAL);
	assert_int_equal(run(memory, COPIED_CODE_MAX_BYTES + 4096, nothing).err, -EINVAL);
	assert_int_equal(memory->read_count, 0);
}

static void reading_has_a_deadline(void **state)
{
	struct memory_home *memory = *state;

	memory->size = COPIED_CODE_MAX_BYTES;
	memory->delay_ns = 60 * NS_PER_MS;
	assert_int_equal(run(memory, COPIED_CODE_MAX_BYTES, nothing).err, -ETIME);
	assert_int_equal(memory->read_count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_copy_has_rows_for_exactly_its_range),
		TEST(a_large_copy_takes_several_reads),
		TEST(content_that_is_known_is_not_analysed),
		TEST(memory_that_cannot_be_read_is_an_error),
		TEST(only_ranges_of_copies_are_read),
		TEST(reading_has_a_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
