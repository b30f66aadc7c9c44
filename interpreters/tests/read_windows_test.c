/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/read_windows.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/java/tests/made_vm.h"

static struct made_vm vm;
static struct read_windows windows;

static int set_up(void **state)
{
	(void)state;
	made_vm_init(&vm);
	for (uint32_t i = 0; i < MADE_VM_BYTES; i++)
		vm.bytes[i] = (uint8_t)(i * 7 + i / 256);
	read_windows_init(&windows, &vm.memory);
	return 0;
}

static void read_is_what_is_there(uint32_t offset, size_t bytes)
{
	uint8_t buffer[1024];

	assert_int_equal(remote_memory_read(&windows.memory, MADE_VM_BASE + offset, buffer, bytes),
			 0);
	assert_memory_equal(buffer, vm.bytes + offset, bytes);
}

static void neighbours_come_out_of_one_read(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < READ_WINDOW_BYTES; i += 8)
		read_is_what_is_there(READ_WINDOW_BYTES + i, 8);
	assert_int_equal(vm.reads, 1);
	/* All windows are filled, and the first one is evicted. */
	for (uint32_t i = 0; i < READ_WINDOW_COUNT; i++)
		read_is_what_is_there((3 + i) * READ_WINDOW_BYTES, 4);
	for (uint32_t i = 0; i < READ_WINDOW_COUNT; i++)
		read_is_what_is_there((3 + i) * READ_WINDOW_BYTES + 9, 7);
	assert_int_equal(vm.reads, 1 + READ_WINDOW_COUNT);
	read_is_what_is_there(READ_WINDOW_BYTES, 1);
	assert_int_equal(vm.reads, 2 + READ_WINDOW_COUNT);
}

static void what_fits_into_no_window_is_read_as_it_is(void **state)
{
	(void)state;
	read_is_what_is_there(READ_WINDOW_BYTES - 3, 8);
	read_is_what_is_there(10, 1000);
	read_is_what_is_there(0, READ_WINDOW_BYTES);
	assert_int_equal(vm.reads, 3);
}

static void what_cannot_be_read_is_in_no_window(void **state)
{
	uint64_t word = 1;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(remote_memory_read(&windows.memory, 8, &word, 8), -EFAULT);
	assert_int_equal(vm.reads, 2);
	assert_int_equal(word, 1);
	assert_int_equal(remote_memory_read(&windows.memory, MADE_VM_BASE + MADE_VM_BYTES, &word,
					    8),
			 -EFAULT);
	read_is_what_is_there(MADE_VM_BYTES - 8, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(neighbours_come_out_of_one_read, set_up),
		cmocka_unit_test_setup(what_fits_into_no_window_is_read_as_it_is, set_up),
		cmocka_unit_test_setup(what_cannot_be_read_is_in_no_window, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
