/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/vm_structs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/java/tests/made_vm.h"
#include "lib/elf/fuzz/made_elf.h"

static struct made_vm vm;

static int ask(const struct vm_question *question, struct vm_answer *answer)
{
	return vm_structs_read(&vm.symbols, MADE_VM_BIAS, &vm.memory, question, 1, answer);
}

static int ask_field(const char *type, const char *name, struct vm_answer *answer)
{
	const struct vm_question question = { VM_FIELD, type, name };

	return ask(&question, answer);
}

/* Makes some entries of each table, as in 17. */
static void make_tables(void)
{
	made_vm_init(&vm);
	made_vm_add_field(&vm, "Klass", "_name", "Symbol*", false, 24);
	made_vm_add_field(&vm, "Symbol", "_length", "u2", false, 4);
	made_vm_add_field(&vm, "Symbol", "_body", NULL, false, 6);
	made_vm_add_field(&vm, "nmethod", "_state", "volatile signed char", false, 315);
	made_vm_add_field(&vm, "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", true, 0x1234);
	made_vm_add_type(&vm, "ConstMethod", 48);
	made_vm_add_type(&vm, "Klass", 208);
	made_vm_add_constant(&vm, "frame::interpreter_frame_sender_sp_offset", -1);
}

static void what_is_asked_for_is_found_in_each_table(void **state)
{
	static const struct vm_question questions[] = {
		{ VM_FIELD, "Symbol", "_length" },
		{ VM_SIZE, "Klass", NULL },
		{ VM_CONSTANT, NULL, "frame::interpreter_frame_sender_sp_offset" },
		{ VM_FIELD, "CodeCache", "_heaps" },
		{ VM_FIELD, "Symbol", "_body" },
		{ VM_FIELD, "nmethod", "_state" },
		/* The same question twice. */
		{ VM_FIELD, "Symbol", "_length" },
		/* A field of another type, and of none. */
		{ VM_FIELD, "Klass", "_length" },
		{ VM_SIZE, "Symbol", NULL },
		{ VM_CONSTANT, NULL, "Klass" },
	};
	struct vm_answer answers[10];

	(void)state;
	make_tables();
	assert_int_equal(
		vm_structs_read(&vm.symbols, MADE_VM_BIAS, &vm.memory, questions, 10, answers), 0);
	for (int i = 0; i < 7; i++)
		assert_true(answers[i].is_found);
	for (int i = 7; i < 10; i++)
		assert_false(answers[i].is_found);
	assert_int_equal(answers[0].value, 4);
	assert_int_equal(answers[0].bytes, 2);
	assert_false(answers[0].is_static);
	assert_int_equal(answers[1].value, 208);
	assert_int_equal(answers[2].value, -1);
	assert_int_equal(answers[3].value, 0x1234);
	assert_int_equal(answers[3].bytes, 8);
	assert_true(answers[3].is_static);
	assert_int_equal(answers[4].value, 6);
	assert_int_equal(answers[4].bytes, 0);
	assert_int_equal(answers[5].bytes, 1);
	assert_int_equal(answers[6].value, 4);
}

static void the_order_of_an_entrys_words_is_the_tables_own_affair(void **state)
{
	struct vm_answer answer;

	(void)state;
	make_tables();
	/* Field and type are swapped. */
	made_vm_set_symbol(&vm, VM_STRUCT_TYPE_NAME, 8);
	made_vm_set_symbol(&vm, VM_STRUCT_FIELD_NAME, 0);
	assert_int_equal(ask_field("_name", "Klass", &answer), 0);
	assert_true(answer.is_found);
	assert_int_equal(answer.value, 24);
	assert_int_equal(ask_field("Klass", "_name", &answer), 0);
	assert_false(answer.is_found);
}

static void tables_that_are_not_set_up_are_to_be_tried_again(void **state)
{
	struct vm_answer answer;

	(void)state;
	make_tables();
	made_vm_set_symbol(&vm, VM_TYPE_STRIDE, 0);
	assert_int_equal(ask_field("Klass", "_name", &answer), -EAGAIN);
	make_tables();
	made_vm_set_symbol(&vm, VM_STRUCTS, 0);
	assert_int_equal(ask_field("Klass", "_name", &answer), -EAGAIN);
}

static void entries_that_cannot_be_are_refused(void **state)
{
	struct vm_answer answer;

	(void)state;
	make_tables();
	made_vm_set_symbol(&vm, VM_STRUCT_STRIDE, VM_STRUCTS_MAX_STRIDE + 8);
	assert_int_equal(ask_field("Klass", "_name", &answer), -EBADMSG);
	make_tables();
	made_vm_set_symbol(&vm, VM_STRUCT_STRIDE, 44);
	assert_int_equal(ask_field("Klass", "_name", &answer), -EBADMSG);
	make_tables();
	made_vm_set_symbol(&vm, VM_STRUCT_ADDRESS, 44);
	assert_int_equal(ask_field("Klass", "_name", &answer), -EBADMSG);
	make_tables();
	made_vm_set_symbol(&vm, VM_STRUCT_OFFSET, UINT64_MAX);
	assert_int_equal(ask_field("Klass", "_name", &answer), -EBADMSG);
}

static void a_table_without_an_end_is_left(void **state)
{
	struct vm_answer answer;

	(void)state;
	make_tables();
	/* A table of constants of 8 bytes that never ends: the limit of entries ends it. */
	made_vm_set_symbol(&vm, VM_INT_CONSTANTS, MADE_VM_BASE + MADE_STRINGS_AT);
	made_vm_set_symbol(&vm, VM_INT_CONSTANT_STRIDE, 8);
	made_vm_set_symbol(&vm, VM_INT_CONSTANT_VALUE, 0);
	memset(vm.bytes + vm.strings_end, 'x', MADE_VM_BYTES - vm.strings_end);
	assert_int_equal(ask_field("Klass", "_name", &answer), -EBADMSG);
}

static void names_that_are_none_are_passed_over(void **state)
{
	struct vm_answer answer;

	(void)state;
	make_tables();
	/* A string at an address that is not mapped, and one without an end. */
	made_vm_put(&vm, MADE_FIELDS_AT, 16, 8);
	made_vm_put(&vm, MADE_FIELDS_AT + MADE_FIELD_STRIDE, MADE_VM_BASE + vm.strings_end, 8);
	memset(vm.bytes + vm.strings_end, 'x', VM_STRUCTS_NAME_BYTES);
	assert_int_equal(ask_field("nmethod", "_state", &answer), 0);
	assert_true(answer.is_found);
	assert_int_equal(answer.value, 315);
	assert_int_equal(ask_field("Klass", "_name", &answer), 0);
	assert_false(answer.is_found);
}

static void a_table_that_is_not_mapped_fails(void **state)
{
	struct vm_answer answer;

	(void)state;
	make_tables();
	made_vm_set_symbol(&vm, VM_TYPES, 0x5000);
	assert_int_equal(ask_field("Klass", "_name", &answer), -EFAULT);
	vm.symbols.addresses[VM_STRUCTS] = 0;
	assert_int_equal(ask_field("Klass", "_name", &answer), -EFAULT);
}

static void tables_are_read_by_pages(void **state)
{
	struct vm_answer answer;

	(void)state;
	make_tables();
	vm.reads = 0;
	assert_int_equal(ask_field("Klass", "_name", &answer), 0);
	/* Symbols, three tables, strings. */
	assert_in_range(vm.reads, 1, 5);
}

static void the_symbols_are_all_or_none(void **state)
{
	static struct made_elf elf;
	const struct made_symbol some[] = { { "gHotSpotVMStructs", 64, 8, false },
					    { "gHotSpotVMTypes", 72, 8, false } };
	struct vm_symbols symbols;
	struct elf_image image;

	(void)state;
	made_elf_init(&elf, EM_X86_64);
	made_elf_set_symbols(&elf, some + 1, 1, 1, true);
	assert_int_equal(elf_image_init_memory(&image, &elf, MADE_ELF_BYTES), 0);
	assert_int_equal(vm_symbols_find(&image, &symbols), -ENOENT);
	elf_image_deinit(&image);
	made_elf_init(&elf, EM_X86_64);
	made_elf_set_symbols(&elf, some, 2, 1, true);
	assert_int_equal(elf_image_init_memory(&image, &elf, MADE_ELF_BYTES), 0);
	assert_int_equal(vm_symbols_find(&image, &symbols), -EOPNOTSUPP);
	elf_image_deinit(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked_for_is_found_in_each_table),
		cmocka_unit_test(the_order_of_an_entrys_words_is_the_tables_own_affair),
		cmocka_unit_test(tables_that_are_not_set_up_are_to_be_tried_again),
		cmocka_unit_test(entries_that_cannot_be_are_refused),
		cmocka_unit_test(a_table_without_an_end_is_left),
		cmocka_unit_test(names_that_are_none_are_passed_over),
		cmocka_unit_test(a_table_that_is_not_mapped_fails),
		cmocka_unit_test(tables_are_read_by_pages),
		cmocka_unit_test(the_symbols_are_all_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
