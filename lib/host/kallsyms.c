/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some 100,000 to 300,000 lines, read whenever modules change: one pass without allocations but for the growth
 * of two arrays, and a sort, which finds most of the lines in order. The text is the kernel's; names of modules
 * and BPF programs are chosen by users who may load them.
 */
#include "lib/host/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "lib/host/line_reader.h"

enum {
	ADDRESS_DIGITS_MAX = 16,
	RANK_32BIT = 0x80,
	RANK_LOCAL = 0x100,
	RANK_WEAK = 0x200,
	RANK_MARK = 0x300,
	UNDERSCORES_MAX = 0x7f,
};

struct module_name {
	char text[KALLSYMS_MODULE_NAME_BYTES];
};

VECTOR_DEFINE(kallsyms_vector, struct kallsyms_symbol)
VECTOR_DEFINE(name_vector, char)
VECTOR_DEFINE(module_vector, struct module_name)

struct kallsyms_builder {
	struct kallsyms_vector symbols;
	struct name_vector names;
	struct module_vector modules;
	struct hash_map module_numbers;
	uint64_t text_start;
	uint64_t text_end;
	uint16_t last_module;
	bool saw_hidden;
};

static void kallsyms_builder_deinit(struct kallsyms_builder *builder)
{
	kallsyms_vector_deinit(&builder->symbols);
	name_vector_deinit(&builder->names);
	module_vector_deinit(&builder->modules);
	hash_map_deinit(&builder->module_numbers);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The parts of a line, borrowed from it. */
struct kallsyms_line {
	uint64_t address;
	char type;
	const char *name;
	size_t name_bytes;
	const char *module;
	size_t module_bytes;
};

static bool split_line(const char *line, size_t length, struct kallsyms_line *parts)
{
	const char *end = line + length, *tab;
	size_t digits;

	parts->address = 0;
	for (digits = 0; digits < length && hex_digit(line[digits]) >= 0; digits++)
		parts->address = parts->address << 4 | hex_digit(line[digits]);
	if (!digits || digits > ADDRESS_DIGITS_MAX || length < digits + 4 || line[digits] != ' ' ||
	    line[digits + 2] != ' ')
		return false;
	parts->type = line[digits + 1];
	parts->name = line + digits + 3;
	tab = memchr(parts->name, '\t', end - parts->name);
	parts->name_bytes = (tab ? tab : end) - parts->name;
	parts->module = NULL;
	parts->module_bytes = 0;
	if (tab) {
		if (end - tab < 4 || tab[1] != '[' || end[-1] != ']')
			return false;
		parts->module = tab + 2;
		parts->module_bytes = end - 1 - parts->module;
	}
	return parts->name_bytes && !memchr(line, '\0', length);
}

static bool name_is(const struct kallsyms_line *parts, const char *name)
{
	return parts->name_bytes == strlen(name) && !memcmp(parts->name, name, parts->name_bytes);
}

static bool begins_with(const struct kallsyms_line *parts, const char *beginning)
{
	size_t bytes = strlen(beginning);

	return parts->name_bytes >= bytes && !memcmp(parts->name, beginning, bytes);
}

static bool ends_with(const struct kallsyms_line *parts, const char *ending)
{
	size_t bytes = strlen(ending);

	return parts->name_bytes >= bytes &&
	       !memcmp(parts->name + parts->name_bytes - bytes, ending, bytes);
}

/* _text, _stext, __sched_text_start and the like mark addresses in the linker script. */
static bool is_mark(const struct kallsyms_line *parts)
{
	if (parts->name[0] != '_' || parts->module)
		return false;
	return ends_with(parts, "text") || ends_with(parts, "text_start") ||
	       ends_with(parts, "text_end");
}

/* The entry of a system call for 32-bit programs. Without arguments it is the same code as that for others. */
static bool is_of_32bit_programs(const struct kallsyms_line *parts)
{
	return begins_with(parts, "__ia32_") || begins_with(parts, "__pfx___ia32_");
}

static uint16_t rank_of(const struct kallsyms_line *parts)
{
	uint16_t rank = 0;

	if (is_mark(parts))
		return RANK_MARK;
	while (rank < parts->name_bytes && rank < UNDERSCORES_MAX && parts->name[rank] == '_')
		rank++;
	if (is_of_32bit_programs(parts))
		rank += RANK_32BIT;
	if (parts->type == 'T')
		return rank;
	return rank + (parts->type == 't' ? RANK_LOCAL : RANK_WEAK);
}

static int add_module(struct kallsyms_builder *builder, const char *name, size_t bytes,
		      uint16_t *number)
{
	const struct module_name *last = &builder->modules.items[builder->last_module];
	struct module_name module = { 0 };
	uint64_t found;

	if (bytes >= sizeof(module.text))
		bytes = sizeof(module.text) - 1;
	/* Symbols of one module are neighbours. */
	if (!strncmp(last->text, name, bytes) && !last->text[bytes]) {
		*number = builder->last_module;
		return 0;
	}
	if (!hash_map_find_bytes(&builder->module_numbers, name, bytes, &found)) {
		found = builder->modules.count;
		if (found == KALLSYMS_MAX_MODULES)
			return fail(-E2BIG, "more than %u kernel modules", KALLSYMS_MAX_MODULES);
		memcpy(module.text, name, bytes);
		if (module_vector_push(&builder->modules, module) ||
		    hash_map_set_bytes(&builder->module_numbers, name, bytes, found))
			return fail(-ENOMEM, "no memory for kernel modules");
	}
	builder->last_module = found;
	*number = found;
	return 0;
}

static int add_name(struct kallsyms_builder *builder, const char *name, size_t bytes,
		    uint32_t *offset)
{
	struct name_vector *names = &builder->names;

	if (bytes > KALLSYMS_NAME_MAX_BYTES)
		bytes = KALLSYMS_NAME_MAX_BYTES;
	if (names->count + bytes + 1 > UINT32_MAX)
		return fail(-E2BIG, "the names of kernel symbols are over 4 GiB");
	if (name_vector_reserve(names, names->count + bytes + 1))
		return fail(-ENOMEM, "no memory for kernel symbols");
	memcpy(names->items + names->count, name, bytes);
	names->items[names->count + bytes] = '\0';
	*offset = names->count;
	names->count += bytes + 1;
	return 0;
}

static int add_line(void *context, const char *line, size_t length)
{
	struct kallsyms_builder *builder = context;
	struct kallsyms_symbol symbol = { 0 };
	struct kallsyms_line parts;
	int err;

	if (!split_line(line, length, &parts))
		return fail(-EBADMSG, "a line of /proc/kallsyms cannot be read: %.*s",
			    length < 100 ? (int)length : 100, line);
	if (!strchr("tTwW", parts.type))
		return 0;
	if (!parts.address) {
		builder->saw_hidden = true;
		return 0;
	}
	if (!parts.module &&
	    (name_is(&parts, "_text") || (name_is(&parts, "_stext") && !builder->text_start)))
		builder->text_start = parts.address;
	if (!parts.module && name_is(&parts, "_etext"))
		builder->text_end = parts.address;
	if (builder->symbols.count == KALLSYMS_MAX_SYMBOLS)
		return fail(-E2BIG, "more than %u kernel functions", KALLSYMS_MAX_SYMBOLS);
	symbol.address = parts.address;
	symbol.rank = rank_of(&parts);
	if (parts.module) {
		err = add_module(builder, parts.module, parts.module_bytes, &symbol.module);
		if (err)
			return err;
	}
	err = add_name(builder, parts.name, parts.name_bytes, &symbol.name);
	if (err)
		return err;
	if (kallsyms_vector_push(&builder->symbols, symbol))
		return fail(-ENOMEM, "no memory for kernel symbols");
	return 0;
}

/* Symbols of equal rank keep the order of the text, in which their names were added. */
static int compare_symbols(const void *left, const void *right)
{
	const struct kallsyms_symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static void sort_symbols(struct kallsyms_vector *symbols)
{
	size_t kept = 0;

	qsort(symbols->items, symbols->count, sizeof(symbols->items[0]), compare_symbols);
	for (size_t i = 0; i < symbols->count; i++)
		if (!kept || symbols->items[kept - 1].address != symbols->items[i].address)
			symbols->items[kept++] = symbols->items[i];
	symbols->count = kept;
}

static int begin(struct kallsyms_builder *builder)
{
	struct module_name kernel = { "vmlinux" };

	if (module_vector_push(&builder->modules, kernel))
		return fail(-ENOMEM, "no memory for kernel modules");
	return 0;
}

static int finish(struct kallsyms_builder *builder, struct kallsyms *kallsyms)
{
	if (!builder->symbols.count)
		return builder->saw_hidden ?
			       fail(-EACCES, "the kernel hides its addresses: run as root with "
					     "CAP_SYSLOG, and set the sysctl "
					     "kernel.kptr_restrict to 0 or 1") :
			       fail(-EBADMSG, "kallsyms has no functions");
	sort_symbols(&builder->symbols);
	/* The names and symbols stay for the life of the agent, so unused memory is freed. */
	*kallsyms = (struct kallsyms){
		.symbols = vector_shrink(builder->symbols.items,
					 builder->symbols.count * sizeof(struct kallsyms_symbol)),
		.count = builder->symbols.count,
		.module_count = builder->modules.count,
		.names = vector_shrink(builder->names.items, builder->names.count),
		.name_bytes = builder->names.count,
		.modules = (char(*)[KALLSYMS_MODULE_NAME_BYTES])builder->modules.items,
		.text_start = builder->text_start,
		.text_end = builder->text_end,
	};
	builder->symbols = (struct kallsyms_vector){ 0 };
	builder->names = (struct name_vector){ 0 };
	builder->modules = (struct module_vector){ 0 };
	return 0;
}

int kallsyms_parse(struct kallsyms *kallsyms, const char *text, size_t size)
{
	_cleanup_(kallsyms_builder_deinit) struct kallsyms_builder builder = { 0 };
	int err;

	err = begin(&builder);
	if (!err)
		err = lines_of_text(text, size, add_line, &builder);
	return err ? err : finish(&builder, kallsyms);
}

int kallsyms_read(struct kallsyms *kallsyms, const char *path)
{
	_cleanup_(kallsyms_builder_deinit) struct kallsyms_builder builder = { 0 };
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return fail_errno(-errno, "%s", path);
	err = begin(&builder);
	if (!err)
		err = lines_of_fd(fd, KALLSYMS_MAX_TEXT_BYTES, add_line, &builder);
	return err ? err : finish(&builder, kallsyms);
}

void kallsyms_deinit(struct kallsyms *kallsyms)
{
	free(kallsyms->symbols);
	free(kallsyms->names);
	free(kallsyms->modules);
	*kallsyms = (struct kallsyms){ 0 };
}

const struct kallsyms_symbol *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address)
{
	uint32_t low = 0, high = kallsyms->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (kallsyms->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &kallsyms->symbols[low - 1] : NULL;
}
