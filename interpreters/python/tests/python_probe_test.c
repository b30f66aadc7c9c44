/* SPDX-License-Identifier: Apache-2.0 */
/* Files of 3.6, made here: finds the pointer to the first interpreter, which PyInterpreterState_Head() loads. */
#include "interpreters/python/python_probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/python/python.h"
#include "interpreters/python/python_layouts.h"
#include "lib/elf/fuzz/made_elf.h"

enum {
	/** Offsets in the content. */
	TEXT_AT = 64,
	GET_VERSION_AT = 128,
	HEAD_AT = 256,
	LOOP_AT = 512,
	LOOP_BYTES = 64,
	/** Offset of a word in another page than the code. */
	LIST_AT = 5124,
};

static uint64_t content_address(uint32_t offset)
{
	return MADE_ADDRESS(content) + offset;
}

/* adrp of the page of @to for code at @from. */
static uint32_t adrp(uint32_t reg, uint64_t from, uint64_t to)
{
	uint32_t pages = (uint32_t)((to >> 12) - (from >> 12));

	return 0x90000000 | (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5 | reg;
}

/* Writes Py_GetVersion(), which refers to the text. */
static void put_get_version(struct made_elf *elf)
{
	const uint64_t code = content_address(GET_VERSION_AT), text = content_address(TEXT_AT);
	const uint32_t words[] = { adrp(0, code, text), 0x91000000 | (uint32_t)(text & 0xfff)
									     << 10 };
	const int32_t distance = (int32_t)(text - code - 4);

	strcpy((char *)elf->content + TEXT_AT, "3.6.15");
	if (elf->header.e_machine == EM_X86_64)
		memcpy(elf->content + GET_VERSION_AT, &distance, sizeof(distance));
	else
		memcpy(elf->content + GET_VERSION_AT, words, sizeof(words));
}

/* Probes a file with @code as PyInterpreterState_Head(), and with a _PyRuntime if @has_runtime. */
static uint64_t first_interpreter(uint16_t machine, const void *code, size_t size, bool has_runtime)
{
	static struct made_elf elf;
	const struct made_symbol symbols[] = {
		{ "_PyEval_EvalFrameDefault", content_address(LOOP_AT), LOOP_BYTES, false },
		{ "Py_GetVersion", content_address(GET_VERSION_AT), 16, false },
		{ "PyGILState_GetThisThreadState", content_address(8), 8, false },
		{ "PyInterpreterState_Head", content_address(HEAD_AT), size, false },
		{ "_PyRuntime", content_address(LIST_AT + 8), 8, false },
	};
	struct python_file *file;
	struct elf_image image;
	uint64_t found;

	made_elf_init(&elf, machine);
	made_elf_set_symbols(&elf, symbols, has_runtime ? 5 : 4, 3, true);
	put_get_version(&elf);
	/* The bytes after the function's end are never run. */
	memset(elf.content + HEAD_AT, machine == EM_X86_64 ? 0xcc : 0, PYTHON_HEAD_BYTES);
	memcpy(elf.content + HEAD_AT, code, size);
	assert_int_equal(elf_image_init_memory(&image, &elf, MADE_ELF_BYTES), 0);
	assert_int_equal(python_probe(&python_language, &image, &file), 0);
	assert_int_equal(file->version, PYTHON_VERSION(3, 6));
	found = file->first_interpreter;
	python_file_release(file);
	elf_image_deinit(&image);
	return found;
}

#define FIRST_INTERPRETER(machine, ...)                                                            \
	first_interpreter(machine, (const uint8_t[]){ __VA_ARGS__ },                               \
			  sizeof((const uint8_t[]){ __VA_ARGS__ }), false)

/* The bytes of the distance to the list from @offset in the function, the end of an instruction. */
#define DISTANCE(offset)                                                                           \
	((LIST_AT - HEAD_AT - (offset)) & 0xff), (LIST_AT - HEAD_AT - (offset)) >> 8, 0, 0
#define ENDBR64 0xf3, 0x0f, 0x1e, 0xfa
#define LOAD_RAX 0x48, 0x8b, 0x05 /* mov DISTANCE(%rip),%rax */

static void the_load_of_x86_is_found(void **state)
{
	const uint64_t list = content_address(LIST_AT);

	(void)state;
	assert_int_equal(FIRST_INTERPRETER(EM_X86_64, LOAD_RAX, DISTANCE(7), 0xc3), list);
	assert_int_equal(FIRST_INTERPRETER(EM_X86_64, ENDBR64, LOAD_RAX, DISTANCE(11), 0xc3), list);
	/* push %rbp; mov %rsp,%rbp */
	assert_int_equal(FIRST_INTERPRETER(EM_X86_64, 0x55, 0x48, 0x89, 0xe5, LOAD_RAX,
					   DISTANCE(11), 0x5d, 0xc3),
			 list);
}

static void other_code_of_x86_is_not_taken_for_it(void **state)
{
	(void)state;
	/* To another register; from another register; after a call, a jump, a return; and an immediate. */
	assert_int_equal(FIRST_INTERPRETER(EM_X86_64, 0x48, 0x8b, 0x0d, DISTANCE(7), 0xc3), 0);
	assert_int_equal(FIRST_INTERPRETER(EM_X86_64, 0x48, 0x8b, 0x83, DISTANCE(7), 0xc3), 0);
	assert_int_equal(
		FIRST_INTERPRETER(EM_X86_64, 0xe8, 0, 0, 0, 0, LOAD_RAX, DISTANCE(12), 0xc3), 0);
	assert_int_equal(FIRST_INTERPRETER(EM_X86_64, 0xeb, 0, LOAD_RAX, DISTANCE(9), 0xc3), 0);
	assert_int_equal(FIRST_INTERPRETER(EM_X86_64, 0xc3, LOAD_RAX, DISTANCE(8)), 0);
	assert_int_equal(FIRST_INTERPRETER(EM_X86_64, 0x49, 0xb8, LOAD_RAX, DISTANCE(9), 0, 0xc3),
			 0);
}

static uint64_t first_interpreter_arm64(uint32_t first, uint32_t second, uint32_t third)
{
	const uint32_t words[] = { first, second, third };

	return first_interpreter(EM_AARCH64, words, sizeof(words), false);
}

/* ldr @to, [@from, of the list in its page] */
static uint32_t load(uint32_t to, uint32_t from)
{
	return 0xf9400000 | (uint32_t)(content_address(LIST_AT) & 0xfff) / 8 << 10 | from << 5 | to;
}

static void the_load_of_arm64_is_found(void **state)
{
	const uint64_t code = content_address(HEAD_AT), list = content_address(LIST_AT);
	const uint32_t nop = 0xd503201f, ret = 0xd65f03c0;

	(void)state;
	assert_int_not_equal(code >> 12, list >> 12);
	assert_int_equal(list % 8, 0);
	assert_int_equal(first_interpreter_arm64(adrp(0, code, list), load(0, 0), ret), list);
	assert_int_equal(first_interpreter_arm64(nop, adrp(5, code + 4, list), load(0, 5)), list);
	/* From another register than the one with the page; to another register; not adjacent. */
	assert_int_equal(first_interpreter_arm64(adrp(1, code, list), load(0, 2), ret), 0);
	assert_int_equal(first_interpreter_arm64(adrp(1, code, list), load(1, 1), ret), 0);
	assert_int_equal(first_interpreter_arm64(adrp(0, code, list), nop, load(0, 0)), 0);
}

static void where_there_is_a_runtime_it_is_not_looked_for(void **state)
{
	const uint8_t code[] = { LOAD_RAX, DISTANCE(7), 0xc3 };

	(void)state;
	assert_int_equal(first_interpreter(EM_X86_64, code, sizeof(code), true), 0);
}

static bool has_texts(const char *texts, size_t bytes)
{
	return python_has_texts(texts, bytes);
}

static void both_texts_of_python_are_wanted(void **state)
{
	static const char both[] = "PYTHONHASHSEED\0%sFatal Python error: %s",
			  one[] = "a PYTHONHASHSEED\0Python error: ",
			  without_first[] = "YTHONHASHSEED\0Fatal Python error: ";

	(void)state;
	assert_true(has_texts(both, sizeof(both)));
	assert_false(has_texts(both, 20));
	assert_false(has_texts(one, sizeof(one)));
	/* As it is in a program that searches for it. */
	assert_false(has_texts(without_first, sizeof(without_first)));
	assert_false(has_texts("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_load_of_x86_is_found),
		cmocka_unit_test(other_code_of_x86_is_not_taken_for_it),
		cmocka_unit_test(the_load_of_arm64_is_found),
		cmocka_unit_test(where_there_is_a_runtime_it_is_not_looked_for),
		cmocka_unit_test(both_texts_of_python_are_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
