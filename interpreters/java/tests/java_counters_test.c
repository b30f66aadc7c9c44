/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_counters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/java/tests/made_vm.h"

enum {
	POINTER_AT = 0x100,
	START_AT = 0x8000,
	PROLOGUE_BYTES = 32,
	ENTRY_BYTES = 64,
	NAME_AT = 20,
	DATA_AT = 56,
	ENTRIES = 3,
};

static struct made_vm vm;
static struct java_layout layout;

static uint32_t entry_at(int number)
{
	return START_AT + PROLOGUE_BYTES + number * ENTRY_BYTES;
}

static void put_entry(int number, const char *name)
{
	uint32_t at = entry_at(number);

	made_vm_put(&vm, at, ENTRY_BYTES, 4);
	made_vm_put(&vm, at + 4, NAME_AT, 4);
	made_vm_put(&vm, at + 12, 'J', 1);
	made_vm_put(&vm, at + 16, DATA_AT, 4);
	memcpy(vm.bytes + at + NAME_AT, name, strlen(name) + 1);
}

static int set_up(void **state)
{
	(void)state;
	memset(&vm, 0, sizeof(vm));
	made_vm_init(&vm);
	layout = (struct java_layout){ .counters = MADE_VM_BASE + POINTER_AT };
	made_vm_put(&vm, POINTER_AT, MADE_VM_BASE + START_AT, 8);
	made_vm_put(&vm, START_AT, 0xc0c0feca, 4);
	made_vm_put(&vm, START_AT + 4, 1, 1);
	made_vm_put(&vm, START_AT + 8, PROLOGUE_BYTES + ENTRIES * ENTRY_BYTES, 4);
	made_vm_put(&vm, START_AT + 24, PROLOGUE_BYTES, 4);
	put_entry(0, "a.b");
	put_entry(1, "a.bc");
	put_entry(2, "x");
	return 0;
}

static uint64_t find(const char *name)
{
	uint64_t address = 1;

	assert_int_equal(java_counter_find(&layout, &vm.memory, name, &address), 0);
	return address ? address - MADE_VM_BASE : 0;
}

static void a_counter_is_found_by_its_whole_name(void **state)
{
	(void)state;
	assert_int_equal(find("a.b"), entry_at(0) + DATA_AT);
	assert_int_equal(find("a.bc"), entry_at(1) + DATA_AT);
	assert_int_equal(find("x"), entry_at(2) + DATA_AT);
	assert_int_equal(find("a"), 0);
	assert_int_equal(find("a.bcd"), 0);
}

static void where_there_are_no_counters_none_is_found(void **state)
{
	(void)state;
	made_vm_put(&vm, START_AT, 0xcafec0c0, 4);
	assert_int_equal(find("x"), 0);
	made_vm_put(&vm, START_AT, 0xc0c0feca, 4);
	assert_int_not_equal(find("x"), 0);
	made_vm_put(&vm, START_AT + 4, 0, 1);
	assert_int_equal(find("x"), 0);
	made_vm_put(&vm, START_AT + 4, 1, 1);
	made_vm_put(&vm, POINTER_AT, 0, 8);
	assert_int_equal(find("x"), 0);
	made_vm_put(&vm, POINTER_AT, 8, 8);
	assert_int_equal(find("x"), 0);
}

/* Each damage hides its own entry, or all later ones too. */
static void sizes_that_cannot_be_are_not_followed(void **state)
{
	static const struct {
		uint32_t at;
		uint64_t value;
		size_t bytes;
	} damages[] = {
		{ 0, 19, 4 },	       { 0, 0, 4 },
		{ 0, 0xffffffff, 4 },  { 0, 129, 4 },
		{ 4, 0xffffffff, 4 },  { 4, ENTRY_BYTES - 1, 4 },
		{ 8, 1, 4 },	       { 12, 'B', 1 },
		{ 16, 0xfffffff8, 4 }, { 16, ENTRY_BYTES, 4 },
		{ 16, 52, 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		set_up(NULL);
		made_vm_put(&vm, entry_at(1) + damages[i].at, damages[i].value, damages[i].bytes);
		assert_int_equal(find("a.bc"), 0);
		assert_int_equal(find("a.b"), entry_at(0) + DATA_AT);
	}
	set_up(NULL);
	made_vm_put(&vm, START_AT + 24, 0xfffffff0, 4);
	assert_int_equal(find("x"), 0);
	made_vm_put(&vm, START_AT + 24, PROLOGUE_BYTES, 4);
	made_vm_put(&vm, START_AT + 8, 0xfffffff0, 4);
	assert_int_equal(find("x"), 0);
	made_vm_put(&vm, START_AT + 8, 0, 4);
	assert_int_equal(find("x"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_counter_is_found_by_its_whole_name, set_up),
		cmocka_unit_test_setup(where_there_are_no_counters_none_is_found, set_up),
		cmocka_unit_test_setup(sizes_that_cannot_be_are_not_followed, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
