/* SPDX-License-Identifier: Apache-2.0 */
/* Rows out of tables of Go that the test makes, beside tables for C and code that has none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/go.h"
#include "stackdeltas/tests/go_code_fixture.h"

enum {
	/* In struct _func of Go 1.20. */
	PCSP_FIELD = 16,
	BIG_CODE_BYTES = 300 << 10,
	CODE_START = MADE_GO_BYTES,
};

static const struct made_value sizes[] = { { 0, 4 }, { 24, 56 }, { 0, FUNCTION }, { 0, 0 } };

/* The function at @offset is as the sizes say, all along. */
static void assert_plain(const struct fixture *fixture, uint32_t offset)
{
	for (uint32_t at = 0; at < FUNCTION; at++)
		assert_row(fixture, offset + at, 0, at >= 4 && at < 56 ? 24 : 0);
}

static void sizes_become_rows_of_both_machines(void **state)
{
	struct fixture *fixture;
	const uint16_t machines[] = { EM_X86_64, EM_AARCH64 };

	for (int i = 0; i < 2; i++) {
		tear_down(state);
		set_up(state);
		fixture = *state;
		fixture->go.machine = machines[i];
		add(fixture, "main.first", 0, sizes);
		add(fixture, "main.second", 0, sizes);
		make_rows(fixture);
		assert_int_equal(fixture->code->spans.count, 1);
		assert_int_equal(fixture->code->spans.items[0].start, TEXT);
		assert_int_equal(fixture->code->spans.items[0].end, TEXT + 2 * FUNCTION);
		assert_false(fixture->code->has_flags);
		assert_plain(fixture, 0);
		assert_plain(fixture, FUNCTION);
	}
}

static void names_give_functions_their_roles(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "main.first", 0, sizes);
	add(fixture, "runtime.systemstack", FLAGGED, sizes);
	add(fixture, "runtime.systemstack", 0, sizes);
	add(fixture, "runtime.goexit", FLAGGED, sizes);
	add(fixture, "runtime.execute", 0, sizes);
	make_rows(fixture);
	assert_true(fixture->code->has_flags);
	assert_plain(fixture, 0);
	assert_row(fixture, FUNCTION + 3, GO_SWITCH_SYSTEMSTACK, 0);
	assert_row(fixture, FUNCTION + 4, GO_SWITCH_SYSTEMSTACK, 24);
	assert_plain(fixture, 2 * FUNCTION);
	assert_row(fixture, 3 * FUNCTION, GO_ROLE_END, 0);
	assert_row(fixture, 4 * FUNCTION - 1, GO_ROLE_END, 0);
	assert_row(fixture, 4 * FUNCTION + 10, GO_SWITCH_EXECUTE, 24);
}

static void before_1_17_no_function_has_flags(void **state)
{
	struct fixture *fixture = *state;

	fixture->go.version = GO_TABLE_1_16;
	fixture->go.minor = 16;
	add(fixture, "runtime.systemstack", 0, sizes);
	add(fixture, "main.first", 0, sizes);
	make_rows(fixture);
	assert_false(fixture->code->has_flags);
	assert_row(fixture, 10, GO_SWITCH_SYSTEMSTACK, 24);
	assert_plain(fixture, FUNCTION);
}

static void a_return_from_a_signal_begins_a_byte_early(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "main.first", 0, sizes);
	add(fixture, "runtime.sigreturn__sigaction", FLAGGED, sizes);
	add(fixture, "main.last", 0, sizes);
	make_rows(fixture);
	assert_row(fixture, FUNCTION - 2, 0, 0);
	assert_row(fixture, FUNCTION - 1, GO_ROLE_SIGNAL_RETURN, 0);
	assert_row(fixture, 2 * FUNCTION - 1, GO_ROLE_SIGNAL_RETURN, 0);
	assert_plain(fixture, 2 * FUNCTION);
}

static void functions_without_sizes_are_not_go_s(void **state)
{
	struct fixture *fixture = *state;
	uint32_t empty;

	add(fixture, "main.first", 0, sizes);
	add(fixture, "_cgo_call", 0, NULL);
	add(fixture, "main.second", 0, sizes);
	empty = add(fixture, "main.empty", 0, sizes);
	fixture->functions[empty].bytes = 0;
	add(fixture, "main.third", 0, sizes);
	make_rows(fixture);
	/* That without bytes only parts the numbers. */
	assert_int_equal(fixture->code->spans.count, 3);
	assert_int_equal(fixture->code->spans.items[0].end, TEXT + FUNCTION);
	assert_int_equal(fixture->code->spans.items[0].count, 1);
	assert_int_equal(fixture->code->spans.items[1].start, TEXT + 2 * FUNCTION);
	assert_int_equal(fixture->code->spans.items[1].first, 2);
	assert_int_equal(fixture->code->spans.items[2].first, 4);
	assert_plain(fixture, 0);
	assert_row(fixture, FUNCTION, 0, -1);
	assert_row(fixture, 2 * FUNCTION - 1, 0, -1);
	assert_plain(fixture, 2 * FUNCTION);
	assert_plain(fixture, 3 * FUNCTION);
}

static void padding_belongs_to_the_function_and_more_is_unknown(void **state)
{
	static const struct made_value padded[] = { { 0, 4 }, { 24, 32 }, { 0, 0 } },
				       cut[] = { { 0, 4 }, { 24, 31 }, { 0, 0 } };
	struct fixture *fixture = *state;

	add(fixture, "main.padded", 0, padded);
	add(fixture, "main.cut", 0, cut);
	add(fixture, "main.last", 0, sizes);
	make_rows(fixture);
	assert_row(fixture, FUNCTION - 1, 0, 24);
	assert_row(fixture, FUNCTION + 30, 0, 24);
	assert_row(fixture, FUNCTION + 31, 0, -1);
	assert_row(fixture, 2 * FUNCTION - 1, 0, -1);
	assert_plain(fixture, 2 * FUNCTION);
}

static void damaged_sizes_cost_their_function_only(void **state)
{
	struct fixture *fixture = *state;
	uint32_t index;

	add(fixture, "main.first", 0, sizes);
	index = add(fixture, "main.damaged", 0, sizes);
	add(fixture, "main.last", 0, sizes);
	made_go_make(&fixture->go);
	made_go_put(&fixture->go, fixture->go.function_at[index] + PCSP_FIELD, 0x7fffffff, 4);
	assert_int_equal(open_code(fixture), 0);
	extract(fixture);
	assert_plain(fixture, 0);
	assert_row(fixture, FUNCTION, 0, -1);
	assert_row(fixture, 2 * FUNCTION - 1, 0, -1);
	assert_plain(fixture, 2 * FUNCTION);
}

static void a_table_without_a_function_of_go_gives_no_rows(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "_cgo_call", 0, NULL);
	made_go_make(&fixture->go);
	assert_int_equal(open_code(fixture), 0);
	assert_int_equal(fixture->code->spans.count, 0);
	fixture->input = (struct unwind_input){ .machine = EM_X86_64, .go = fixture->code };
	assert_int_equal(extract_deltas(&fixture->input, NULL, &fixture->deltas, NULL), -ENOENT);
}

/* The start of function @index, from the text. */
static void put_start(struct fixture *fixture, uint32_t index, uint32_t start)
{
	made_go_put(&fixture->go, fixture->go.functions_at + index * 8, start, 4);
}

static void functions_that_are_not_sorted_are_refused(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "main.first", 0, sizes);
	add(fixture, "main.second", 0, sizes);
	add(fixture, "main.third", 0, sizes);
	made_go_make(&fixture->go);
	put_start(fixture, 2, FUNCTION / 2);
	assert_int_equal(open_code(fixture), -EBADMSG);
	assert_null(fixture->code);
}

static void a_file_that_changes_has_no_more_rows(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 8; i++)
		add(fixture, "main.function", 0, sizes);
	made_go_make(&fixture->go);
	assert_int_equal(open_code(fixture), 0);
	go_table_release(&fixture->code->table);
	put_start(fixture, 7, 0x7fffffff);
	extract(fixture);
	for (uint32_t i = 0; i < 5; i++)
		assert_plain(fixture, i * FUNCTION);
	/*
	 * Function 6 ends at the damaged start of function 7, so it cannot be read. Function 5 has no rows either, since
	 * function 6 is read before the rows of 5 are written.
	 */
	assert_row(fixture, 5 * FUNCTION, 0, -1);
	assert_row(fixture, 8 * FUNCTION - 1, 0, -1);
}

/* The rows of two functions in a file in which function @index now starts at @start. */
static void make_rows_of_changed(struct fixture *fixture, uint32_t index, uint32_t start)
{
	add(fixture, "main.first", 0, sizes);
	add(fixture, "main.second", 0, sizes);
	made_go_make(&fixture->go);
	assert_int_equal(open_code(fixture), 0);
	go_table_release(&fixture->code->table);
	put_start(fixture, index, start);
	extract(fixture);
}

static void what_a_change_leaves_at_the_ends_has_no_rows(void **state)
{
	struct fixture *fixture = *state;

	make_rows_of_changed(fixture, 0, 3);
	assert_row(fixture, 0, 0, -1);
	assert_row(fixture, 2, 0, -1);
	assert_row(fixture, 3, 0, 0);
	assert_plain(fixture, FUNCTION);
	tear_down(state);
	set_up(state);
	fixture = *state;
	/* The end of the last one. */
	make_rows_of_changed(fixture, 2, 2 * FUNCTION - 8);
	assert_row(fixture, 2 * FUNCTION - 9, 0, 24);
	assert_row(fixture, 2 * FUNCTION - 8, 0, -1);
	assert_row(fixture, 2 * FUNCTION - 1, 0, -1);
}

static void tables_for_c_within_go_s_code_go_before_it(void **state)
{
	struct fixture *fixture = *state;
	const struct unwind_rule *rule;

	add(fixture, "main.first", 0, sizes);
	add(fixture, "main.second", 0, sizes);
	add(fixture, "main.third", 0, sizes);
	/* Over borders of functions. */
	PUT_FDE(&fixture->eh_frame, TEXT + 32, FUNCTION, DW_CFA_def_cfa_offset, 96);
	make_rows(fixture);
	assert_row(fixture, 31, 0, 24);
	rule = stack_deltas_lookup(&fixture->deltas, TEXT + 32);
	assert_int_equal(rule->cfa_offset, 96);
	assert_int_equal(rule->fp, SAVED_SAME);
	assert_ptr_equal(stack_deltas_lookup(&fixture->deltas, TEXT + 32 + FUNCTION - 1), rule);
	assert_row(fixture, 32 + FUNCTION, 0, 24);
	assert_row(fixture, 2 * FUNCTION - 8, 0, 0);
	assert_plain(fixture, 2 * FUNCTION);
}

static void functions_that_align_their_stack_have_it_in_rbx(void **state)
{
	/* push %rbp; mov %rsp,%rbp; mov %rsp,%rbx; and $~15,%rsp; call *%rax; mov %rbx,%rsp; pop; ret */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xe3, 0x48, 0x83,
					0xe4, 0xf0, 0xff, 0xd0, 0x48, 0x89, 0xdc, 0x5d, 0xc3 };
	static const struct made_value values[] = { { 0, 1 }, { 8, 17 }, { 0, FUNCTION }, { 0, 0 } };
	struct fixture *fixture = *state;

	add(fixture, "runtime.sigfwd", FLAGGED, values);
	add(fixture, "runtime.callCgoMmap", FLAGGED, values);
	memcpy(fixture->go.bytes + MADE_GO_TEXT, code, sizeof(code));
	make_rows(fixture);
	assert_row(fixture, 0, 0, 0);
	assert_row(fixture, 6, 0, 8);
	for (uint32_t at = 7; at < 16; at++) {
		const struct unwind_rule *rule = stack_deltas_lookup(&fixture->deltas, TEXT + at);

		assert_int_equal(rule->cfa, CFA_REGISTER);
		assert_int_equal(rule->cfa_register, 3);
		assert_int_equal(rule->cfa_offset, 16);
	}
	assert_row(fixture, 16, 0, 8);
	assert_row(fixture, 17, 0, 0);
	/* Code that does not look like that. */
	assert_row(fixture, FUNCTION + 10, 0, 8);
}

static void what_leaves_for_c_s_stack_has_its_own_in_r12_alone(void **state)
{
	/* mov %rsp,%r12; mov 0x38(%r10),%rsp; and $~15,%rsp; call *%rax; mov %r12,%rsp; ret */
	static const uint8_t code[] = { 0x49, 0x89, 0xe4, 0x49, 0x8b, 0x62, 0x38, 0x48, 0x83,
					0xe4, 0xf0, 0xff, 0xd0, 0x4c, 0x89, 0xe4, 0xc3 };
	static const struct made_value values[] = { { 0, FUNCTION }, { 0, 0 } };
	struct fixture *fixture = *state;

	add(fixture, "racecall", FLAGGED, values);
	/* It jumps elsewhere to come back, and so does whatever does not look like that. */
	add(fixture, "runtime.libfuzzerCallTraceIntCmp", FLAGGED, values);
	memcpy(fixture->go.bytes + MADE_GO_TEXT, code, sizeof(code));
	memcpy(fixture->go.bytes + MADE_GO_TEXT + FUNCTION, code, 13);
	make_rows(fixture);
	for (uint32_t at = 0; at < FUNCTION; at++) {
		const struct unwind_rule *rule = stack_deltas_lookup(&fixture->deltas, TEXT + at);

		if (at < 3 || at >= 16) {
			assert_row(fixture, at, 0, 0);
		} else {
			assert_int_equal(rule->cfa, CFA_REGISTER);
			assert_int_equal(rule->cfa_register, 12);
			assert_int_equal(rule->cfa_offset, 8);
			assert_int_equal(rule->flags, RULE_SWITCHES_STACK);
		}
		rule = stack_deltas_lookup(&fixture->deltas, TEXT + FUNCTION + at);
		assert_int_equal(rule->cfa, CFA_NONE);
	}
}

static void assert_in_rdx(const struct fixture *fixture, uint32_t offset)
{
	const struct unwind_rule *rule = stack_deltas_lookup(&fixture->deltas, TEXT + offset);

	assert_int_equal(rule->cfa, CFA_REGISTER);
	assert_int_equal(rule->cfa_register, 1);
	assert_int_equal(rule->cfa_offset, 16);
	assert_int_equal(rule->flags, RULE_SWITCHES_STACK);
}

static void on_the_thread_s_own_stack_nothing_is_changed_and_the_pc_tells(void **state)
{
	/* As asmcgocall(): mov 0x38(%rsi),%rsp; sub; and; call *%rax; mov %rsi,%rsp; ret; and once more. */
	static const uint8_t code[] = {
		0x90, 0x48, 0x8b, 0x66, 0x38, 0x48, 0x83, 0xec, 0x10, 0x48, 0x83,
		0xe4, 0xf0, 0xff, 0xd0, 0x48, 0x89, 0xf4, 0xc3, 0x48, 0x83, 0xec,
		0x10, 0x48, 0x83, 0xe4, 0xf0, 0xff, 0xd0, 0x48, 0x89, 0xf4, 0xc3,
	};
	/* As systemstack(): nop; mov 0x38(%rdx),%rsp; call *%rdi; mov 0x38(%rax),%rsp; ret. */
	static const uint8_t other[] = { 0x90, 0x48, 0x8b, 0x62, 0x38, 0xff,
					 0xd7, 0x48, 0x8b, 0x60, 0x38, 0xc3 };
	static const struct made_value values[] = { { 8, FUNCTION }, { 0, 0 } };
	struct fixture *fixture = *state;

	add(fixture, "runtime.asmcgocall", FLAGGED, values);
	add(fixture, "runtime.systemstack", FLAGGED, values);
	add(fixture, "runtime.systemstack", FLAGGED, values);
	memcpy(fixture->go.bytes + MADE_GO_TEXT, code, sizeof(code));
	memcpy(fixture->go.bytes + MADE_GO_TEXT + FUNCTION, other, sizeof(other));
	make_rows(fixture);
	for (uint32_t at = 0; at < FUNCTION; at++) {
		bool is_away = (at >= 13 && at < 18) || (at >= 27 && at < 32);
		bool is_before = (at >= 5 && at < 13) || (at >= 23 && at < 27);

		if (is_before)
			assert_in_rdx(fixture, at);
		else
			assert_row(fixture, at, is_away ? GO_SWITCH_ASMCGOCALL : 0, 8);
		is_away = at >= 5 && at < 11;
		assert_row(fixture, FUNCTION + at, is_away ? GO_SWITCH_SYSTEMSTACK : 0, 8);
		/* Code that does not look like that: all of it may be away. */
		assert_row(fixture, 2 * FUNCTION + at, GO_SWITCH_SYSTEMSTACK, 8);
	}
}

/* A section with code at @offset in a file that has another section table. */
static void add_code_section(uint8_t *bytes, uint32_t offset, uint32_t size)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)bytes;
	uint32_t table = MADE_GO_BYTES - (header->e_shnum + 1) * sizeof(Elf64_Shdr);
	Elf64_Shdr *sections = (Elf64_Shdr *)(bytes + table);

	memcpy(sections, bytes + header->e_shoff, header->e_shnum * sizeof(*sections));
	sections[header->e_shnum++] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
						    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
						    .sh_addr = MADE_GO_ADDRESS + offset,
						    .sh_offset = offset,
						    .sh_size = size };
	header->e_shoff = table;
}

static int read_input(struct fixture *fixture, struct unwind_input *input)
{
	made_go_make(&fixture->go);
	add_code_section(fixture->go.bytes, MADE_GO_TEXT, MADE_GO_TEXT_BYTES);
	assert_int_equal(elf_image_init_memory(&fixture->image, fixture->go.bytes,
					       sizeof(fixture->go.bytes)),
			 0);
	return unwind_input_read(&fixture->image, input);
}

static void code_beside_go_s_is_left_to_the_instructions(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_input input = { 0 };

	add(fixture, "main.first", 0, sizes);
	add(fixture, "_cgo_call", 0, NULL);
	add(fixture, "main.second", 0, sizes);
	assert_int_equal(read_input(fixture, &input), 0);
	assert_non_null(input.go);
	assert_false(input.is_bare);
	assert_int_equal(input.code.range_count, 2);
	assert_int_equal(input.code.ranges[0].address, TEXT + FUNCTION);
	assert_int_equal(input.code.ranges[0].size, FUNCTION);
	assert_int_equal(input.code.ranges[1].address, TEXT + 3 * FUNCTION);
	assert_int_equal(input.code.ranges[1].size, MADE_GO_TEXT_BYTES - 3 * FUNCTION);
	unwind_input_deinit(&input);
}

static void with_a_damaged_table_nothing_is_said_of_code(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_input input = { 0 };

	add(fixture, "main.first", 0, sizes);
	made_go_make(&fixture->go);
	add_code_section(fixture->go.bytes, MADE_GO_TEXT, MADE_GO_TEXT_BYTES);
	made_go_put(&fixture->go, MADE_GO_TABLE, 0, 4);
	assert_int_equal(elf_image_init_memory(&fixture->image, fixture->go.bytes,
					       sizeof(fixture->go.bytes)),
			 0);
	assert_int_equal(unwind_input_read(&fixture->image, &input), -ENOENT);
}

static bool is_found_beside(const struct fixture *fixture, uint32_t code_bytes)
{
	uint32_t size = CODE_START + code_bytes;
	uint8_t *bytes = calloc(1, size);
	Elf64_Phdr *segment = (Elf64_Phdr *)(bytes + sizeof(Elf64_Ehdr)) + 3;
	struct unwind_input input = { 0 };
	struct elf_image image;
	bool is_found;

	memcpy(bytes, fixture->go.bytes, MADE_GO_BYTES);
	/* It replaces a dynamic section that nothing needs. */
	*segment = (Elf64_Phdr){ .p_type = PT_LOAD,
				 .p_flags = PF_R | PF_X,
				 .p_offset = CODE_START,
				 .p_vaddr = MADE_GO_ADDRESS + CODE_START,
				 .p_filesz = code_bytes,
				 .p_memsz = code_bytes };
	if (fixture->go.section_name)
		add_code_section(bytes, CODE_START, code_bytes);
	assert_int_equal(elf_image_init_memory(&image, bytes, size), 0);
	assert_int_equal(unwind_input_read(&image, &input), 0);
	is_found = input.go;
	unwind_input_deinit(&input);
	elf_image_deinit(&image);
	free(bytes);
	return is_found;
}

static void files_that_name_no_table_are_searched_if_they_have_much_bare_code(void **state)
{
	struct fixture *fixture = *state;
	const char *const names[] = { ".something", NULL };

	add(fixture, "main.first", 0, sizes);
	for (int i = 0; i < 2; i++) {
		fixture->go.section_name = names[i];
		memset(fixture->go.bytes, 0, sizeof(fixture->go.bytes));
		made_go_make(&fixture->go);
		assert_true(is_found_beside(fixture, BIG_CODE_BYTES));
		assert_false(
			is_found_beside(fixture, UNWIND_INPUT_GO_BARE_BYTES - MADE_GO_TEXT_BYTES));
	}
	fixture->go.section_name = ".gopclntab";
	memset(fixture->go.bytes, 0, sizeof(fixture->go.bytes));
	made_go_make(&fixture->go);
	assert_true(is_found_beside(fixture, 16));
}

#define code_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		code_test(sizes_become_rows_of_both_machines),
		code_test(names_give_functions_their_roles),
		code_test(before_1_17_no_function_has_flags),
		code_test(a_return_from_a_signal_begins_a_byte_early),
		code_test(functions_without_sizes_are_not_go_s),
		code_test(padding_belongs_to_the_function_and_more_is_unknown),
		code_test(damaged_sizes_cost_their_function_only),
		code_test(a_table_without_a_function_of_go_gives_no_rows),
		code_test(functions_that_are_not_sorted_are_refused),
		code_test(a_file_that_changes_has_no_more_rows),
		code_test(what_a_change_leaves_at_the_ends_has_no_rows),
		code_test(tables_for_c_within_go_s_code_go_before_it),
		code_test(functions_that_align_their_stack_have_it_in_rbx),
		code_test(what_leaves_for_c_s_stack_has_its_own_in_r12_alone),
		code_test(on_the_thread_s_own_stack_nothing_is_changed_and_the_pc_tells),
		code_test(code_beside_go_s_is_left_to_the_instructions),
		code_test(with_a_damaged_table_nothing_is_said_of_code),
		code_test(files_that_name_no_table_are_searched_if_they_have_much_bare_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
