/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_builtins.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/elf/elf_symbols.h"

#define SYMBOL_PREFIX "Builtins_"
/* The handler of the first bytecode; the other handlers follow it, and nothing else does. */
#define FIRST_HANDLER "WideHandler"
#define PROTOTYPE "Prototype"

enum {
	/** Limit of the size of .strtab; Node.js has 12 MB. */
	STRINGS_MAX_BYTES = 128 << 20,
};

/* The name of the builtin; NULL if the symbol is no builtin. */
static const char *builtin_name(const struct elf_bytes *strings, const struct elf_symbol *symbol)
{
	const char *name = (const char *)strings->data + symbol->name;

	if (symbol->is_dynamic || symbol->name >= strings->size ||
	    !memchr(name, 0, strings->size - symbol->name) ||
	    !text_starts_with(name, SYMBOL_PREFIX))
		return NULL;
	name += strlen(SYMBOL_PREFIX);
	return *name && strlen(name) < V8_BUILTIN_NAME_BYTES ? name : NULL;
}

/*
 * True for builtins that have no frame while they move the arguments of a call. Those that stand between them and only jump
 * count as such, too: a range for each would be too many.
 */
static bool moves_arguments(const char *name)
{
	static const char *const prefixes[] = {
		"CallFunction",
		"CallBound",
		"CallWrapped",
		"Call_",
		"CallProxy",
		"CallVarargs",
		"CallWith",
		"CallForward",
		"ConstructFunction",
		"ConstructBound",
		"ConstructedNon",
		"Construct_",
		"ConstructVarargs",
		"ConstructWith",
		"ConstructForward",
		"FunctionPrototypeApply",
		"FunctionPrototypeCall",
		"ReflectApply",
		"ReflectConstruct",
	};

	if (!strcmp(name, "Construct"))
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (text_starts_with(name, prefixes[i]))
			return true;
	return false;
}

static enum javascript_builtin_class class_by_name(const char *name)
{
	/* InterpreterEntryTrampoline, and similar builtins that continue in the middle of a function. */
	if (text_starts_with(name, "InterpreterEnt") ||
	    text_starts_with(name, "BaselineOrInterpreterEnter"))
		return JAVASCRIPT_BUILTIN_INTERPRETER;
	if (!strcmp(name, "BaselineOutOfLinePrologue"))
		return JAVASCRIPT_BUILTIN_PROLOGUE;
	if (!strcmp(name, "BaselineLeaveFrame"))
		return JAVASCRIPT_BUILTIN_LEAVE;
	if (text_starts_with(name, "DeoptimizationEntry"))
		return JAVASCRIPT_BUILTIN_DEOPTIMIZER;
	if (text_starts_with(name, "CEntry_"))
		return JAVASCRIPT_BUILTIN_EXIT;
	if (moves_arguments(name))
		return JAVASCRIPT_BUILTIN_CALL;
	/* Source: compiler/backend/x64/code-generator-x64.cc (OutOfLineRecordWrite, OutOfLineTruncateDoubleToI). */
	if (text_starts_with(name, "RecordWrite") ||
	    text_starts_with(name, "EphemeronKeyBarrier") || !strcmp(name, "DoubleToI"))
		return JAVASCRIPT_BUILTIN_HELPER;
	/* Calls from JavaScript to wasm. */
	if (text_starts_with(name, "JSToWasm") || text_starts_with(name, "GenericJSToWasm"))
		return JAVASCRIPT_BUILTIN_NO_FUNCTION;
	return JAVASCRIPT_BUILTIN_OTHER;
}

/* Collects the builtins among @symbols. Their names are borrowed from @strings, and have *@bytes bytes in total. */
static int collect(struct v8_builtins *builtins, const struct elf_symbols *symbols,
		   const struct elf_bytes *strings, size_t *bytes)
{
	enum javascript_builtin_class last_class = JAVASCRIPT_BUILTIN_OTHER;

	builtins->items = calloc(V8_BUILTINS_MAX, sizeof(builtins->items[0]));
	if (!builtins->items)
		return -ENOMEM;
	for (uint32_t i = 0; i < symbols->count; i++) {
		const struct elf_symbol *symbol = &symbols->symbols[i];
		const char *name = builtin_name(strings, symbol);
		uint64_t start;

		if (!name)
			continue;
		if (!builtins->count)
			builtins->start = symbol->address;
		start = symbol->address - builtins->start;
		if (builtins->count == V8_BUILTINS_MAX ||
		    start + symbol->size > JAVASCRIPT_OFFSET_MASK)
			return fail(-EBADMSG, "too many builtins");
		if (last_class != JAVASCRIPT_BUILTIN_HANDLER)
			last_class = strcmp(name, FIRST_HANDLER) ? class_by_name(name) :
								   JAVASCRIPT_BUILTIN_HANDLER;
		*bytes += strlen(name) + 1;
		builtins->items[builtins->count++] = (struct v8_builtin){
			.start = (uint32_t)start,
			.end = (uint32_t)start + symbol->size,
			.builtin_class = last_class,
			.name = name,
		};
	}
	return builtins->count ? 0 : fail(-ENOENT, "no builtins");
}

/* Copies the builtins and their names to memory of exactly the size that they need. */
static int keep(struct v8_builtins *builtins, size_t bytes)
{
	struct v8_builtin *items;
	size_t used = 0;

	builtins->names = malloc(bytes ? bytes : 1);
	if (!builtins->names)
		return -ENOMEM;
	for (uint32_t i = 0; i < builtins->count; i++) {
		char *name = builtins->names + used;

		used += (size_t)snprintf(name, bytes - used, "%s", builtins->items[i].name) + 1;
		builtins->items[i].name = name;
	}
	items = realloc(builtins->items, builtins->count * sizeof(items[0]));
	if (items)
		builtins->items = items;
	return 0;
}

int v8_builtins_init(struct v8_builtins *builtins, const struct elf_image *image)
{
	_cleanup_(elf_bytes_deinit) struct elf_bytes strings = { 0 };
	_cleanup_(elf_symbols_deinit) struct elf_symbols symbols = { 0 };
	size_t bytes = 0;
	int err = elf_symbols_init(&symbols, image);

	memset(builtins, 0, sizeof(*builtins));
	if (err)
		return err;
	strings.size = symbols.names[0].size;
	if (!strings.size || strings.size > STRINGS_MAX_BYTES)
		return fail(-ENOENT, "no builtins");
	strings.data = malloc(strings.size);
	if (!strings.data)
		return -ENOMEM;
	err = elf_image_read(image, symbols.names[0].offset, strings.data, strings.size);
	if (!err)
		err = collect(builtins, &symbols, &strings, &bytes);
	if (!err)
		err = keep(builtins, bytes);
	if (err)
		v8_builtins_deinit(builtins);
	return err;
}

void v8_builtins_deinit(struct v8_builtins *builtins)
{
	free(builtins->items);
	free(builtins->names);
	memset(builtins, 0, sizeof(*builtins));
}

const struct v8_builtin *v8_builtins_find(const struct v8_builtins *builtins, uint64_t address)
{
	uint64_t offset = address - builtins->start;
	uint32_t low = 0, high = builtins->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (builtins->items[middle].start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low && offset < builtins->items[low - 1].end ? &builtins->items[low - 1] : NULL;
}

/* The start of the function's name, capitalized, in the builtin's name; NULL if it is not there. */
static const char *find_function(const char *builtin, const char *function)
{
	size_t length = strlen(function);

	for (const char *at = builtin; length && *at; at++)
		if (*at == toupper((unsigned char)function[0]) && at > builtin &&
		    !strncmp(at + 1, function + 1, length - 1))
			return at;
	return NULL;
}

/* True for functions of Array itself; other builtins Array... belong to its prototype. */
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
	/* End of the part before the function's name. */
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
