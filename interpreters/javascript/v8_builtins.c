/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_builtins.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/error.h"
#include "agent/base/text.h"

#define SYMBOL_PREFIX "Builtins_"
#define PROTOTYPE "Prototype"

int v8_builtins_init(struct v8_builtins *builtins, const struct elf_image *image)
{
	struct v8_builtins found = { .image = image };
	int err = elf_symbols_init(&found.symbols, image);

	if (!err)
		*builtins = found;
	return err;
}

void v8_builtins_deinit(struct v8_builtins *builtins)
{
	elf_symbols_deinit(&builtins->symbols);
}

int v8_builtins_find(const struct v8_builtins *builtins, uint64_t address,
		     struct v8_builtin *builtin)
{
	const struct elf_symbol *symbol = elf_symbols_lookup(&builtins->symbols, address);
	char name[sizeof(SYMBOL_PREFIX) - 1 + V8_BUILTIN_NAME_BYTES] = { 0 };

	if (!symbol ||
	    elf_symbols_name(&builtins->symbols, builtins->image, symbol, name, sizeof(name)))
		return -ENOENT;
	if (!text_starts_with(name, SYMBOL_PREFIX))
		return -ENOENT;
	memcpy(builtin->name, name + strlen(SYMBOL_PREFIX), sizeof(builtin->name));
	/* InterpreterEntryTrampoline, and its like that continue in the midst of a function. */
	builtin->is_interpreter = text_starts_with(builtin->name, "InterpreterEnt") ||
				  text_starts_with(builtin->name, "BaselineOrInterpreterEnter");
	builtin->is_wasm_wrapper = text_starts_with(builtin->name, "JSToWasm") ||
				   text_starts_with(builtin->name, "GenericJSToWasm");
	return 0;
}

/* Where the function's name begins in the builtin's, with a capital; NULL: nowhere. */
static const char *find_function(const char *builtin, const char *function)
{
	size_t length = strlen(function);

	for (const char *at = builtin; length && *at; at++)
		if (*at == toupper((unsigned char)function[0]) && at > builtin &&
		    !strncmp(at + 1, function + 1, length - 1))
			return at;
	return NULL;
}

/* Functions of Array itself; all others of builtins Array... are its prototype's. */
static bool is_of_array_itself(const char *function)
{
	static const char *const names[] = { "from", "fromAsync", "isArray", "of" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(function, names[i]))
			return true;
	return false;
}

void v8_builtin_function_name(const char *builtin, const char *function, char *name,
			      size_t capacity)
{
	const char *prototype = strstr(builtin, PROTOTYPE);
	/* Where what stands before the function ends. */
	const char *end = find_function(builtin, function);
	size_t length;
	bool is_of_prototype;

	if (prototype && prototype > builtin && (end || function[0] == '['))
		end = prototype;
	if (!end) {
		snprintf(name, capacity, "%s", function[0] ? function : builtin);
		return;
	}
	length = (size_t)(end - builtin);
	is_of_prototype = end == prototype ||
			  (length == strlen("Array") && text_starts_with(builtin, "Array") &&
			   !is_of_array_itself(function));
	if (length == strlen("Json") && text_starts_with(builtin, "Json"))
		builtin = "JSON";
	snprintf(name, capacity, "%.*s%s%s%s", (int)length, builtin,
		 is_of_prototype ? ".prototype" : "", function[0] == '[' ? "" : ".", function);
}
