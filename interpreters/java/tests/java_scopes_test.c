/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_scopes.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/java/tests/made_code.h"

enum {
	/** Offsets in the memory. */
	MAPS_AT = 0xc000,
	CODE_AT = 0xd000,
	CODE_BYTES = 60,
	OUTER = 0x1110,
	MIDDLE = 0x2220,
	INNER = 0x3330,
};

static struct made_vm vm;

/* Makes a method with an inlined one, which has another inlined one, and records at 10, 20, 30 and at both ends. */
static void make_code(void)
{
	static const uint64_t methods[] = { OUTER, MIDDLE, INNER };

	made_code_init(&vm);
	made_vm_put(&vm, MADE_BLOB_AT + 32, OUTER, 8);
	made_vm_put(&vm, MADE_BLOB_AT + 64, MADE_RECORDS, 4);
	made_vm_put(&vm, MADE_BLOB_AT + 68, MADE_RECORDS + 5 * 16, 4);
	made_vm_put(&vm, MADE_BLOB_AT + 72, MADE_SCOPES, 4);
	made_vm_put(&vm, MADE_BLOB_AT + 76, MADE_METADATA, 4);
	for (uint32_t i = 0; i < 3; i++)
		made_vm_put(&vm, MADE_BLOB_AT + MADE_METADATA + 8 * i, methods[i], 8);
	made_code_put_scope(&vm, 1, 0, 1, 5);
	made_code_put_scope(&vm, 7, 1, 2, 6);
	made_code_put_scope(&vm, 13, 7, 3, JAVA_BCI_OF_ENTRY);
	/* All three have a map of pointers to objects, so the code was compiled without DebugNonSafepoints. */
	made_vm_put(&vm, MADE_BLOB_AT + 56, MADE_VM_BASE + MAPS_AT, 8);
	made_vm_put(&vm, MAPS_AT, 3, 4);
	made_code_put_record(&vm, 0, -1, 0);
	made_code_put_record(&vm, 1, 10, 1);
	made_code_put_record(&vm, 2, 20, 13);
	made_code_put_record(&vm, 3, 30, 7);
	made_code_put_record(&vm, 4, INT32_MAX, 0);
}

/* The jump that the first byte of the code encodes, if its target is in the range. */
static int64_t find_jump(uint16_t machine, const uint8_t *bytes, size_t size, int64_t low,
			 int64_t high)
{
	int8_t target = (int8_t)bytes[0];

	assert_int_equal(machine, EM_X86_64);
	assert_int_not_equal(size, 0);
	return target >= low && target <= high ? target : 0;
}

static int read_at(uint32_t offset, bool is_return_address, struct java_scopes *scopes)
{
	struct java_layout layout = made_code_layout();
	const struct java_blob blob = { .address = MADE_VM_BASE + MADE_BLOB_AT,
					.code_start = MADE_VM_BASE + CODE_AT,
					.code_end = MADE_VM_BASE + CODE_AT + CODE_BYTES };

	layout.machine = EM_X86_64;
	return java_scopes_read(&layout, &vm.memory, &blob, offset, is_return_address, find_jump,
				scopes);
}

static int read_scopes(uint32_t offset, struct java_scopes *scopes)
{
	return read_at(offset, true, scopes);
}

static void check_scope(const struct java_scope *scope, uint64_t method, int32_t bci)
{
	assert_int_equal(scope->method, method);
	assert_int_equal(scope->bci, bci);
}

static void scopes_come_from_the_inside_out(void **state)
{
	struct java_scopes scopes;

	(void)state;
	make_code();
	assert_int_equal(read_scopes(20, &scopes), 0);
	assert_true(scopes.is_exact);
	assert_int_equal(scopes.count, 3);
	check_scope(&scopes.scopes[0], INNER, JAVA_BCI_OF_ENTRY);
	check_scope(&scopes.scopes[1], MIDDLE, 6);
	check_scope(&scopes.scopes[2], OUTER, 5);
	assert_int_equal(read_scopes(30, &scopes), 0);
	assert_true(scopes.is_exact);
	assert_int_equal(scopes.count, 2);
}

/* The records have: the outer method; middle and inner inlined into it; middle inlined into it. */
static void between_records_what_both_have_is_taken(void **state)
{
	static const struct {
		uint32_t offset;
		bool is_return_address;
		uint32_t count;
		int32_t bci;
		bool is_exact;
	} expected[] = {
		{ 0, false, 1, JAVA_BCI_OF_ENTRY, false },
		{ 9, true, 1, JAVA_BCI_OF_ENTRY, false },
		{ 10, true, 1, 5, true },
		{ 10, false, 1, 5, false },
		{ 14, false, 1, 5, false },
		{ 20, true, 3, JAVA_BCI_OF_ENTRY, true },
		{ 20, false, 2, 6, false },
		{ 24, true, 2, 6, false },
		{ 30, true, 2, 6, true },
		/* After the last record, and after the end of the code. */
		{ 31, true, 1, 5, false },
		{ 30, false, 1, 5, false },
		{ INT32_MAX, true, 1, 5, false },
	};

	(void)state;
	make_code();
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct java_scopes scopes;

		assert_int_equal(
			read_at(expected[i].offset, expected[i].is_return_address, &scopes), 0);
		assert_int_equal(scopes.count, expected[i].count);
		assert_int_equal(scopes.scopes[0].bci, expected[i].bci);
		assert_int_equal(scopes.is_exact, expected[i].is_exact);
		assert_int_equal(scopes.scopes[scopes.count - 1].method, OUTER);
	}
}

/* The same method is inlined at two different calls in the outer one. */
static void methods_behind_different_calls_are_not_the_same(void **state)
{
	struct java_scopes scopes;

	(void)state;
	make_code();
	made_code_put_scope(&vm, 31, 0, 1, 9);
	made_code_put_scope(&vm, 37, 31, 2, 6);
	made_code_put_record(&vm, 3, 30, 37);
	assert_int_equal(read_at(22, false, &scopes), 0);
	assert_int_equal(scopes.count, 1);
	check_scope(&scopes.scopes[0], OUTER, 5);
	/* The bytecode index comes from the nearer record. */
	assert_int_equal(read_at(28, false, &scopes), 0);
	assert_int_equal(scopes.count, 1);
	check_scope(&scopes.scopes[0], OUTER, 9);
	/* With the same call, the bytecode index in the callee may differ. */
	made_code_put_scope(&vm, 31, 7, 3, 2);
	made_code_put_record(&vm, 3, 30, 31);
	assert_int_equal(read_at(28, false, &scopes), 0);
	assert_int_equal(scopes.count, 3);
	check_scope(&scopes.scopes[0], INNER, 2);
}

static void with_records_of_all_code_the_one_behind_a_pc_is_of_it(void **state)
{
	struct java_scopes scopes;

	(void)state;
	make_code();
	made_vm_put(&vm, MAPS_AT, 2, 4);
	for (uint32_t offset = 10; offset < 20; offset++) {
		assert_int_equal(read_at(offset, false, &scopes), 0);
		assert_int_equal(scopes.count, 3);
		assert_true(scopes.is_exact);
	}
	assert_int_equal(read_at(15, true, &scopes), 0);
	assert_int_equal(scopes.count, 3);
	assert_true(scopes.is_exact);
	/* Code after the last record is not described. */
	assert_int_equal(read_at(30, false, &scopes), 0);
	assert_int_equal(scopes.count, 1);
	assert_false(scopes.is_exact);
	made_vm_put(&vm, MAPS_AT, 3, 4);
	assert_int_equal(read_at(15, false, &scopes), 0);
	assert_int_equal(scopes.count, 1);
	assert_false(scopes.is_exact);
}

/* The code jumps back to the end of the part that it was reached from, and gets the record of that part. */
static void what_stands_behind_all_records_is_of_the_pc_that_it_goes_back_to(void **state)
{
	static const struct {
		uint32_t offset;
		int8_t jump;
		uint32_t count;
	} expected[] = {
		{ 40, -30, 1 },
		{ 40, -29, 3 },
		{ 40, -20, 3 },
		{ 40, -10, 2 },
		{ 59, -39, 3 },
	}, unknown[] = {
		/* Jumps to a wrong target or to none, and a pc after the code. */
		{ 40, -9, 1 },
		{ 40, -41, 1 },
		{ 40, 0, 1 },
		{ 60, -40, 1 },
	};
	struct java_scopes scopes;

	(void)state;
	make_code();
	made_vm_put(&vm, MAPS_AT, 2, 4);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		made_vm_put(&vm, CODE_AT + expected[i].offset, (uint8_t)expected[i].jump, 1);
		for (int is_return = 0; is_return <= 1; is_return++) {
			assert_int_equal(read_at(expected[i].offset, is_return, &scopes), 0);
			assert_true(scopes.is_exact);
			assert_int_equal(scopes.count, expected[i].count);
		}
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		made_vm_put(&vm, CODE_AT + unknown[i].offset, (uint8_t)unknown[i].jump, 1);
		assert_int_equal(read_at(unknown[i].offset, false, &scopes), 0);
		assert_false(scopes.is_exact);
		assert_int_equal(scopes.count, unknown[i].count);
		check_scope(&scopes.scopes[0], OUTER, JAVA_BCI_OF_ENTRY);
	}
}

static void without_records_it_is_the_compiled_method(void **state)
{
	struct java_scopes scopes;

	(void)state;
	make_code();
	made_code_put_record(&vm, 1, INT32_MAX, 0);
	made_vm_put(&vm, MAPS_AT, 0, 4);
	/* Only the records of the ends, or none at all. Level 0 is a native method's. */
	for (uint32_t level = 0; level <= 4; level += 4) {
		for (uint32_t count = 0; count <= 2; count += 2) {
			made_vm_put(&vm, MADE_BLOB_AT + 44, level, 1);
			made_vm_put(&vm, MADE_BLOB_AT + 68, MADE_RECORDS + count * 16, 4);
			assert_int_equal(read_scopes(20, &scopes), 0);
			assert_int_equal(scopes.count, 1);
			assert_int_equal(scopes.is_exact, level == 0);
			check_scope(&scopes.scopes[0], OUTER, JAVA_BCI_OF_ENTRY);
		}
	}
}

static void forged_scopes_are_refused(void **state)
{
	struct java_scopes scopes;

	(void)state;
	/* A scope inlined into itself, and one inlined into a later one. */
	make_code();
	made_code_put_scope(&vm, 13, 13, 3, 0);
	assert_int_equal(read_scopes(20, &scopes), -EBADMSG);
	made_code_put_scope(&vm, 13, 20, 3, 0);
	assert_int_equal(read_scopes(20, &scopes), -EBADMSG);
	/* A scope without a method, and one whose method cannot be read. */
	make_code();
	made_code_put_scope(&vm, 13, 7, 0, 0);
	assert_int_equal(read_scopes(20, &scopes), -EBADMSG);
	made_vm_put(&vm, MADE_BLOB_AT + 76, MADE_VM_BYTES, 4);
	assert_int_equal(read_scopes(30, &scopes), -EFAULT);
	make_code();
	made_vm_put(&vm, MADE_BLOB_AT + 68, MADE_RECORDS - 16, 4);
	assert_int_equal(read_scopes(20, &scopes), -EBADMSG);
	made_vm_put(&vm, MADE_BLOB_AT + 68, UINT32_MAX, 4);
	assert_int_equal(read_scopes(20, &scopes), -EBADMSG);
}

/* Each scope is inlined into the one that starts a byte before it: every byte is a number of a scope. */
static void chains_that_are_too_long_are_refused(void **state)
{
	struct java_scopes scopes;
	uint32_t start = 0x1000;

	(void)state;
	make_code();
	made_vm_put(&vm, MADE_BLOB_AT + 72, start, 4);
	made_code_put_record(&vm, 2, 20, 0x2ff1);
	/* Two bytes for the sender, one for the method, one for the bytecode index. */
	for (uint32_t offset = 0x2ff1; offset > 4; offset -= 4) {
		uint8_t *at = vm.bytes + MADE_BLOB_AT + start + offset;
		uint32_t rest = offset - 4 - 192;

		if (offset < 0x400)
			break;
		at[0] = (uint8_t)(192 + (rest & 63));
		at[1] = (uint8_t)(rest >> 6 < 192 ? rest >> 6 : 191);
		at[2] = 1;
		at[3] = 1;
	}
	vm.reads = 0;
	assert_int_equal(read_scopes(20, &scopes), -EBADMSG);
	assert_int_equal(scopes.count, JAVA_MAX_SCOPES);
	/* There are 2,800 scopes, and each that is read takes two reads. */
	assert_in_range(vm.reads, 1024, 2200);
}

/* Checks that all three scopes of the pc at 20 are found. */
static void check_with(const struct java_layout *layout)
{
	const struct java_blob blob = { .address = MADE_VM_BASE + MADE_BLOB_AT };
	struct java_scopes scopes;

	assert_int_equal(java_scopes_read(layout, &vm.memory, &blob, 20, true, NULL, &scopes), 0);
	assert_int_equal(scopes.count, 3);
	check_scope(&scopes.scopes[0], INNER, JAVA_BCI_OF_ENTRY);
	check_scope(&scopes.scopes[1], MIDDLE, 6);
	check_scope(&scopes.scopes[2], OUTER, 5);
}

static void from_25_on_the_information_is_elsewhere(void **state)
{
	struct java_layout layout = made_code_layout();

	(void)state;
	make_code();
	layout.nmethod_immutable_data = (struct vm_field){ 80, 8 };
	layout.nmethod_metadata = (struct vm_field){ JAVA_NO_FIELD, 0 };
	layout.blob_mutable_data = (struct vm_field){ 88, 8 };
	layout.blob_relocation_size = (struct vm_field){ 96, 4 };
	/* The same addresses, relative to other bases. */
	made_vm_put(&vm, MADE_BLOB_AT + 80, MADE_VM_BASE + MADE_BLOB_AT + MADE_SCOPES - 8, 8);
	made_vm_put(&vm, MADE_BLOB_AT + 64, MADE_RECORDS - MADE_SCOPES + 8, 4);
	made_vm_put(&vm, MADE_BLOB_AT + 68, MADE_RECORDS - MADE_SCOPES + 8 + 5 * 16, 4);
	made_vm_put(&vm, MADE_BLOB_AT + 72, 8, 4);
	made_vm_put(&vm, MADE_BLOB_AT + 88, MADE_VM_BASE + MADE_BLOB_AT + MADE_METADATA - 24, 8);
	made_vm_put(&vm, MADE_BLOB_AT + 96, 24, 4);
	check_with(&layout);
}

static void in_23_and_24_methods_are_among_the_blobs_data(void **state)
{
	struct java_layout layout = made_code_layout();

	(void)state;
	make_code();
	layout.nmethod_immutable_data = (struct vm_field){ 80, 8 };
	layout.nmethod_metadata = (struct vm_field){ 76, 2 };
	made_vm_put(&vm, MADE_BLOB_AT + 80, MADE_VM_BASE + MADE_BLOB_AT, 8);
	made_vm_put(&vm, MADE_BLOB_AT + 24, MADE_METADATA - 16, 4);
	made_vm_put(&vm, MADE_BLOB_AT + 76, 16, 2);
	check_with(&layout);
}

static void from_9_to_22_scopes_have_a_pointer(void **state)
{
	struct java_layout layout = made_code_layout();

	(void)state;
	make_code();
	layout.nmethod_scopes_data = (struct vm_field){ 80, 8 };
	made_vm_put(&vm, MADE_BLOB_AT + 80, MADE_VM_BASE + MADE_BLOB_AT + MADE_SCOPES, 8);
	check_with(&layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scopes_come_from_the_inside_out),
		cmocka_unit_test(between_records_what_both_have_is_taken),
		cmocka_unit_test(methods_behind_different_calls_are_not_the_same),
		cmocka_unit_test(with_records_of_all_code_the_one_behind_a_pc_is_of_it),
		cmocka_unit_test(what_stands_behind_all_records_is_of_the_pc_that_it_goes_back_to),
		cmocka_unit_test(without_records_it_is_the_compiled_method),
		cmocka_unit_test(forged_scopes_are_refused),
		cmocka_unit_test(chains_that_are_too_long_are_refused),
		cmocka_unit_test(from_25_on_the_information_is_elsewhere),
		cmocka_unit_test(in_23_and_24_methods_are_among_the_blobs_data),
		cmocka_unit_test(from_9_to_22_scopes_have_a_pointer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
