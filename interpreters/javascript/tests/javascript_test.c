/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/javascript.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include "ebpf/abi/javascript.h"
#include "interpreters/javascript/tests/made_node.h"

enum {
	BUILTINS_AT = 0x100,
	BUILTIN_BYTES = 64,
	BUILTIN_COUNT = 3,
	SECTION_COUNT = 4,
	FILE_BYTES = MADE_NODE_BYTES + 4096,
};

#define BIAS 0x7f0000000000ULL
#define BUILTINS_START (MADE_NODE_START + BUILTINS_AT)

static const struct language_ops *ops;

/** A made node, followed by sections as a linker adds them, with symbols of builtins. */
struct file {
	_Alignas(16) uint8_t bytes[FILE_BYTES];
	struct made_node node;
	/* The interpreter loads the table of handlers. */
	bool loads_table;
};

static struct file file;

/* nop; mov r15, [r13 + 0x4798] */
static const uint8_t load_table[] = { 0x90, 0x4d, 0x8b, 0xbd, 0x98, 0x47, 0, 0 };

/* Adds sections after the node's bytes: code, symbols, their names. */
static void add_builtins(void)
{
	static const char names[] = "\0Builtins_ArrayMap\0Builtins_InterpreterEntryTrampoline\0"
				    "Builtins_AddHandler";
	static const uint32_t name_offsets[BUILTIN_COUNT] = { 1, 19, 55 };
	const uint64_t symbols_at = (MADE_NODE_BYTES + 15) / 16 * 16;
	const uint64_t names_at = symbols_at + (BUILTIN_COUNT + 1) * sizeof(Elf64_Sym);
	const uint64_t sections_at = (names_at + sizeof(names) + 15) / 16 * 16;
	Elf64_Sym symbols[BUILTIN_COUNT + 1] = { 0 };
	const Elf64_Shdr sections[SECTION_COUNT] = {
		{ 0 },
		{ .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		  .sh_addr = MADE_NODE_START,
		  .sh_size = MADE_NODE_BYTES },
		{ .sh_type = SHT_SYMTAB,
		  .sh_offset = symbols_at,
		  .sh_size = sizeof(symbols),
		  .sh_link = 3,
		  .sh_entsize = sizeof(symbols[0]) },
		{ .sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof(names) },
	};

	for (uint32_t i = 0; i < BUILTIN_COUNT; i++)
		symbols[i + 1] = (Elf64_Sym){
			.st_name = name_offsets[i],
			.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
			.st_shndx = 1,
			.st_value = BUILTINS_START + BUILTIN_BYTES * i,
			.st_size = BUILTIN_BYTES - 16,
		};
	file.node.segments[0].p_flags |= PF_X;
	file.node.header.e_shoff = sections_at;
	file.node.header.e_shentsize = sizeof(sections[0]);
	file.node.header.e_shnum = SECTION_COUNT;
	memcpy(file.bytes + symbols_at, symbols, sizeof(symbols));
	memcpy(file.bytes + names_at, names, sizeof(names));
	memcpy(file.bytes + sections_at, sections, sizeof(sections));
}

static void make_file(enum v8_line line, bool has_builtins)
{
	memset(file.bytes, 0, sizeof(file.bytes));
	made_node_init(&file.node, line);
	file.loads_table = has_builtins;
	if (has_builtins)
		add_builtins();
}

static int probe(struct runtime_file **probed)
{
	struct elf_image image;
	int err;

	memcpy(file.bytes, &file.node, MADE_NODE_BYTES);
	if (file.loads_table)
		memcpy(file.bytes + BUILTINS_AT + BUILTIN_BYTES, load_table, sizeof(load_table));
	assert_int_equal(elf_image_init_memory(&image, file.bytes, sizeof(file.bytes)), 0);
	err = ops->probe(&image, "/usr/bin/node", probed);
	elf_image_deinit(&image);
	return err;
}

static int probe_error(void)
{
	struct runtime_file *probed = NULL;
	int err = probe(&probed);

	assert_null(probed);
	return err;
}

static void a_file_with_v8_and_its_builtins_is_probed_in_all_versions(void **state)
{
	static const char *const versions[V8_LINE_COUNT] = {
		"V8 9.4.146.26",  "V8 10.2.154.26", "V8 11.3.244.8",  "V8 12.4.254.21",
		"V8 13.6.233.17", "V8 14.1.146.11", "V8 14.6.202.34",
	};

	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		struct runtime_file *probed = NULL;

		make_file(line, true);
		assert_int_equal(probe(&probed), 0);
		assert_ptr_equal(probed->language, &javascript_language);
		assert_string_equal(probed->version, versions[line]);
		assert_int_equal(probed->range_count, 1);
		assert_int_equal(probed->ranges[0].start, BUILTINS_START);
		assert_int_equal(probed->ranges[0].end,
				 BUILTINS_START + BUILTIN_COUNT * BUILTIN_BYTES - 16);
		ops->release(probed);
	}
}

static void a_file_without_symbols_of_builtins_is_refused(void **state)
{
	(void)state;
	make_file(V8_12_4, false);
	assert_int_equal(probe_error(), -EOPNOTSUPP);
	assert_non_null(strstr(error_text(), "without the symbols of its builtins"));
}

static void an_interpreter_without_a_table_of_handlers_is_refused(void **state)
{
	(void)state;
	make_file(V8_12_4, true);
	file.loads_table = false;
	assert_int_equal(probe_error(), -EOPNOTSUPP);
	assert_non_null(strstr(error_text(), "table of handlers"));
}

static void other_machines_are_refused(void **state)
{
	(void)state;
	make_file(V8_12_4, true);
	file.node.header.e_machine = EM_AARCH64;
	assert_int_equal(probe_error(), -EOPNOTSUPP);
	assert_non_null(strstr(error_text(), "V8 of this machine"));
}

static void other_files_are_none(void **state)
{
	(void)state;
	make_file(V8_12_4, true);
	/* A file without exports. */
	file.node.dynamic[0].d_tag = DT_NULL;
	assert_int_equal(probe_error(), -ENOENT);
}

static const struct javascript_process *data_of(const struct runtime *process)
{
	assert_int_equal(process->data_bytes, sizeof(struct javascript_process));
	assert_ptr_equal(process->language, &javascript_language);
	return process->data;
}

static void attaching_adds_the_bias_to_what_lies_in_the_process(void **state)
{
	const struct attach_target target = { .pid = 1, .bias = BIAS };

	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		const struct v8_layout layout = made_layout(line);
		struct runtime_file *probed = NULL;
		struct runtime *process = NULL;

		make_file(line, true);
		assert_int_equal(probe(&probed), 0);
		assert_int_equal(ops->attach(probed, &target, &process), 0);
		/* 0 stays 0 if pages have lists. */
		assert_int_equal(data_of(process)->jit_pages,
				 line < V8_12_4 ? 0 : layout.trusted_data + 24 + BIAS);
		/* Native frames have ELF virtual addresses. */
		assert_int_equal(data_of(process)->builtins_start, BUILTINS_START);
		assert_int_equal(data_of(process)->ranges[1].start, BUILTIN_BYTES);
		assert_int_equal(data_of(process)->ranges[1].builtin_class,
				 JAVASCRIPT_BUILTIN_INTERPRETER);
		ops->detach(process);
		ops->release(probed);
	}
}

static int read_nothing(struct remote_memory *memory, uint64_t address, void *bytes, size_t size)
{
	(void)memory;
	(void)address;
	(void)bytes;
	(void)size;
	return -ESRCH;
}

static void a_file_may_be_let_go_while_a_process_is_attached_to(void **state)
{
	static const struct remote_memory_ops nothing = { .read = read_nothing };
	const struct attach_target targets[] = { { .pid = 1 }, { .pid = 2, .bias = BIAS } };
	const uint64_t regexp[2] = { frame_word(FRAME_JAVASCRIPT, 0, 0x1000),
				     (uint64_t)JAVASCRIPT_REGEXP << (32 + JAVASCRIPT_CODE_SHIFT) };
	const uint64_t interpreted[2] = { frame_word(FRAME_JAVASCRIPT, 0, 0x1001), 1 };
	struct remote_memory memory = { .ops = &nothing };
	struct runtime *processes[2] = { NULL, NULL };
	struct interpreted_frames frames;
	struct runtime_file *probed = NULL;
	uint32_t object = 0;

	(void)state;
	make_file(V8_13_6, true);
	assert_int_equal(probe(&probed), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ops->attach(probed, &targets[i], &processes[i]), 0);
	ops->release(probed);
	for (int i = 0; i < 2; i++) {
		/* The layout and the builtins still exist. */
		assert_int_equal(ops->symbolize(processes[i], &memory, interpreted, &object,
						&frames),
				 -ESRCH);
		assert_int_equal(ops->symbolize(processes[i], &memory, regexp, &object, &frames),
				 0);
		assert_string_equal(frames.items[0].function, "[regular expression]");
		ops->detach(processes[i]);
	}
}

static int set_up(void **state)
{
	(void)state;
	ops = javascript_language.ops;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_with_v8_and_its_builtins_is_probed_in_all_versions),
		cmocka_unit_test(a_file_without_symbols_of_builtins_is_refused),
		cmocka_unit_test(an_interpreter_without_a_table_of_handlers_is_refused),
		cmocka_unit_test(other_machines_are_refused),
		cmocka_unit_test(other_files_are_none),
		cmocka_unit_test(attaching_adds_the_bias_to_what_lies_in_the_process),
		cmocka_unit_test(a_file_may_be_let_go_while_a_process_is_attached_to),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
