/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_builtins.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/elf/tests/elf_builder.h"

/* Makes a file whose only section of code has the symbols @names, of 64 bytes each. */
static void make_file(struct elf_builder *builder, const char *const *names, uint32_t count)
{
	static const uint8_t code[64 * 8];
	Elf64_Sym symbols[16] = { 0 };
	char strings[512] = "";
	size_t bytes = 1;
	uint32_t text, table;

	elf_builder_init(builder, 1);
	text = elf_builder_add(builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code,
			       sizeof(code));
	for (uint32_t i = 0; i < count; i++) {
		symbols[i + 1] = (Elf64_Sym){
			.st_name = (uint32_t)bytes,
			.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
			.st_shndx = (uint16_t)text,
			.st_value = builder->sections[text].sh_addr + 64ULL * i,
			.st_size = 48,
		};
		strcpy(strings + bytes, names[i]);
		bytes += strlen(names[i]) + 1;
	}
	table = elf_builder_add(builder, ".symtab", SHT_SYMTAB, 0, symbols,
				(count + 1) * sizeof(symbols[0]));
	builder->sections[table].sh_link =
		elf_builder_add(builder, ".strtab", SHT_STRTAB, 0, strings, bytes);
	builder->sections[table].sh_entsize = sizeof(symbols[0]);
	elf_builder_finish(builder);
}

static void builtins_are_found_by_their_symbols(void **state)
{
	static const char *const names[] = { "Builtins_ArrayMap",
					     "main",
					     "Builtins_InterpreterEntryTrampoline",
					     "Builtins_BaselineOrInterpreterEnterAtBytecode",
					     "Builtins_JSToWasmWrapper",
					     "Builtins_BaselineOutOfLinePrologue",
					     "Builtins_BaselineOutOfLinePrologueDeopt",
					     "Builtins_BaselineLeaveFrame",
					     "Builtins_DeoptimizationEntry_Eager",
					     "Builtins_RecordWriteSaveFP",
					     "Builtins_EphemeronKeyBarrierIgnoreFP",
					     "Builtins_DoubleToI",
					     "Builtins_WideHandler",
					     "Builtins_AddHandler" };
	static const enum javascript_builtin_class classes[] = {
		JAVASCRIPT_BUILTIN_OTHER,	JAVASCRIPT_BUILTIN_OTHER,
		JAVASCRIPT_BUILTIN_INTERPRETER, JAVASCRIPT_BUILTIN_INTERPRETER,
		JAVASCRIPT_BUILTIN_NO_FUNCTION, JAVASCRIPT_BUILTIN_PROLOGUE,
		JAVASCRIPT_BUILTIN_OTHER,	JAVASCRIPT_BUILTIN_LEAVE,
		JAVASCRIPT_BUILTIN_DEOPTIMIZER, JAVASCRIPT_BUILTIN_HELPER,
		JAVASCRIPT_BUILTIN_HELPER,	JAVASCRIPT_BUILTIN_HELPER,
		JAVASCRIPT_BUILTIN_HANDLER,	JAVASCRIPT_BUILTIN_HANDLER,
	};
	enum { NAMES = sizeof(names) / sizeof(names[0]) };
	static struct elf_builder builder;
	struct v8_builtins builtins;
	struct elf_image image;
	uint64_t code;

	(void)state;
	make_file(&builder, names, NAMES);
	code = builder.sections[1].sh_addr;
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	assert_int_equal(v8_builtins_init(&builtins, &image), 0);
	elf_image_deinit(&image);
	assert_int_equal(builtins.start, code);
	assert_int_equal(builtins.count, NAMES - 1);
	for (uint32_t i = 0; i < NAMES; i++) {
		const struct v8_builtin *builtin = v8_builtins_find(&builtins, code + 64 * i + 5);

		/* A C++ function is no builtin, and there is none after the end. */
		assert_null(v8_builtins_find(&builtins, code + 64 * i + 50));
		if (i == 1) {
			assert_null(builtin);
			continue;
		}
		assert_string_equal(builtin->name, names[i] + strlen("Builtins_"));
		assert_int_equal(builtin->builtin_class, classes[i]);
	}
	assert_null(v8_builtins_find(&builtins, code - 1));
	v8_builtins_deinit(&builtins);
}

static void files_without_builtins_have_none(void **state)
{
	static const char *const names[] = { "main", "Builtins_" };
	static struct elf_builder builder;
	struct v8_builtins builtins;
	struct elf_image image;

	(void)state;
	make_file(&builder, names, 2);
	assert_int_equal(elf_image_init_memory(&image, builder.bytes, BUILT_BYTES), 0);
	assert_int_equal(v8_builtins_init(&builtins, &image), -ENOENT);
	elf_image_deinit(&image);
}

static void assert_name(const char *builtin, const char *function, const char *expected)
{
	char name[64];

	v8_builtin_function_name(builtin, function, name, sizeof(name));
	assert_string_equal(name, expected);
}

static void builtins_are_called_as_programs_call_them(void **state)
{
	char name[8];

	(void)state;
	assert_name("ArrayMap", "map", "Array.prototype.map");
	assert_name("ArrayMapLoopContinuation", "map", "Array.prototype.map");
	assert_name("ArrayFrom", "from", "Array.from");
	assert_name("ArrayPrototypeValues", "values", "Array.prototype.values");
	assert_name("StringPrototypeReplace", "replace", "String.prototype.replace");
	assert_name("RegExpPrototypeReplace", "[Symbol.replace]",
		    "RegExp.prototype[Symbol.replace]");
	assert_name("JsonParse", "parse", "JSON.parse");
	assert_name("ReflectApply", "apply", "Reflect.apply");
	assert_name("ObjectKeys", "keys", "Object.keys");
	/* Names that do not match. */
	assert_name("HandleApiCall", "wait", "wait");
	assert_name("Prototype", "x", "x");
	assert_name("Map", "map", "map");
	assert_name("AsyncFunctionAwaitResolveClosure", "", "AsyncFunctionAwaitResolveClosure");
	v8_builtin_function_name("StringPrototypeReplace", "replace", name, sizeof(name));
	assert_string_equal(name, "String.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builtins_are_found_by_their_symbols),
		cmocka_unit_test(files_without_builtins_have_none),
		cmocka_unit_test(builtins_are_called_as_programs_call_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
