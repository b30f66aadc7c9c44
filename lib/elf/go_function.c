/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pc-value table ends with its function. Since steps that cover no address are limited, a pass over all
 * functions takes no more steps than there are bytes of code, however many functions share a table.
 */
#include "lib/elf/go_function.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/error.h"

enum {
	/* Steps that cover no address. Go's compiler makes none. */
	EMPTY_STEPS_MAX = 16,
	VARINT_MAX_BYTES = 5,
	/* One varint each for value and address. */
	STEP_MAX_BYTES = 2 * VARINT_MAX_BYTES,
	/* Most tables are shorter. */
	FIRST_FILL_BYTES = 24,
	FUNCTION_MAX_BYTES = 44,
	/* An entry of the index: address and offset of a function. */
	INDEX_ENTRY_MAX_BYTES = 16,
	MISSING_FUNCDATA = UINT32_MAX,
	POINTER_BYTES = 8,
};

/* FuncIDs by the first version that has them (runtime/symtab.go, later internal/abi/symtab.go). */
static const struct {
	uint32_t minor;
	uint8_t gopanic;
	uint8_t panicwrap;
	uint8_t sigpanic;
	uint8_t wrapper;
} function_ids[] = {
	{ .minor = 25, .gopanic = 10, .panicwrap = 15, .sigpanic = 20, .wrapper = 23 },
	{ .minor = 22, .gopanic = 10, .panicwrap = 15, .sigpanic = 19, .wrapper = 22 },
	{ .minor = 18, .gopanic = 9, .panicwrap = 14, .sigpanic = 18, .wrapper = 21 },
	{ .minor = 17, .gopanic = 9, .panicwrap = 15, .sigpanic = 19, .wrapper = 22 },
	{ .minor = 14, .gopanic = 18, .panicwrap = 19, .sigpanic = 9, .wrapper = 22 },
	{ .minor = 12, .gopanic = 18, .panicwrap = 19, .sigpanic = 9, .wrapper = 20 },
};

enum go_function_kind go_function_kind(const struct go_table *table, uint8_t id)
{
	size_t i = 0, count = sizeof(function_ids) / sizeof(function_ids[0]);

	while (i < count && table->minor < function_ids[i].minor)
		i++;
	if (i == count || !id)
		return GO_FUNCTION_ORDINARY;
	if (id == function_ids[i].wrapper)
		return GO_FUNCTION_WRAPPER;
	if (id == function_ids[i].gopanic)
		return GO_FUNCTION_GOPANIC;
	if (id == function_ids[i].panicwrap)
		return GO_FUNCTION_PANICWRAP;
	return id == function_ids[i].sigpanic ? GO_FUNCTION_SIGPANIC : GO_FUNCTION_ORDINARY;
}

static uint32_t u32_at(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint64_t u64_at(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static bool has_offsets(const struct go_table *table)
{
	return table->header.version >= GO_TABLE_1_18;
}

/* The addresses at which functions @index and @index + 1 start, and the offset of the former. */
static int read_index(struct go_table *table, uint32_t index, uint64_t *start, uint64_t *end,
		      uint64_t *function)
{
	uint32_t number_bytes = has_offsets(table) ? sizeof(uint32_t) : sizeof(uint64_t);
	uint64_t at = table->header.index.offset + 2ULL * number_bytes * index, address;
	uint8_t bytes[3 * sizeof(uint64_t)];
	int err = elf_pages_read(&table->pages, at, bytes, 3ULL * number_bytes);

	if (err)
		return err;
	if (has_offsets(table)) {
		*start = table->text + u32_at(bytes);
		*function = u32_at(bytes + sizeof(uint32_t));
		*end = table->text + u32_at(bytes + 2 * sizeof(uint32_t));
		return 0;
	}
	*function = u64_at(bytes + sizeof(uint64_t));
	if (!table->relocations.count) {
		*start = u64_at(bytes);
		*end = u64_at(bytes + 2 * sizeof(uint64_t));
		return 0;
	}
	address = table->header.address + (at - table->header.offset);
	err = elf_relocations_word(&table->relocations, &table->pages, address, start);
	return err ? err :
		     elf_relocations_word(&table->relocations, &table->pages,
					  address + INDEX_ENTRY_MAX_BYTES, end);
}

/* Reads the fields behind the address that all versions have, and those that the layout has offsets for. */
static void parse_function(const struct go_layout *layout, const uint8_t *bytes,
			   struct go_function *function)
{
	const uint8_t *fields = bytes + layout->address_bytes;

	function->name = u32_at(fields);
	function->argument_bytes = u32_at(fields + 4);
	function->defer_return = layout->id ? u32_at(fields + 8) : 0;
	function->pcsp = u32_at(fields + 12);
	function->pcfile = u32_at(fields + 16);
	function->pcln = u32_at(fields + 20);
	function->pcdata_count = u32_at(fields + 24);
	function->unit = layout->unit ? u32_at(bytes + layout->unit) : 0;
	function->start_line = layout->start_line ? u32_at(bytes + layout->start_line) : 0;
	function->id = layout->id ? bytes[layout->id] : 0;
	function->flags = layout->unit ? bytes[layout->id + 1] : 0;
	function->funcdata_count = layout->funcdata_count_bytes == 1 ?
					   bytes[layout->funcdata_count] :
					   u32_at(bytes + layout->funcdata_count);
}

int go_function_read(struct go_table *table, uint32_t index, struct go_function *function)
{
	const struct go_part *part = &table->header.functions;
	struct go_function found = { 0 };
	uint8_t bytes[FUNCTION_MAX_BYTES];
	uint64_t offset;
	int err = read_index(table, index, &found.start, &found.end, &offset);

	if (err)
		return err;
	if (found.end < found.start || found.start < table->first_address ||
	    found.end > table->end_address)
		return fail(-EBADMSG, "function %u of Go is from %#" PRIx64 " to %#" PRIx64, index,
			    found.start, found.end);
	if (part->bytes < table->layout.bytes || offset > part->bytes - table->layout.bytes)
		return fail(-EBADMSG, "function %u of Go stands at %#" PRIx64, index, offset);
	found.offset = part->offset + offset;
	err = elf_pages_read(&table->pages, found.offset, bytes, table->layout.bytes);
	if (err)
		return err;
	parse_function(&table->layout, bytes, &found);
	*function = found;
	return 0;
}

int go_function_find(struct go_table *table, uint64_t address, struct go_function *function)
{
	uint32_t low = 0, high = table->header.function_count;

	if (address < table->first_address || address >= table->end_address)
		return -ENOENT;
	/* Finds the last function that starts at or below the address. */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		uint64_t start, end, offset;
		int err = read_index(table, middle, &start, &end, &offset);

		if (err)
			return err;
		if (start <= address)
			low = middle;
		else
			high = middle;
	}
	return go_function_read(table, low, function);
}

void go_function_name_start(struct go_table *table, const struct go_function *function, char *name,
			    size_t capacity)
{
	const struct go_part *names = &table->header.names;
	uint64_t left = function->name < names->bytes ? names->bytes - function->name : 0;

	memset(name, 0, capacity);
	if (!function->name || elf_pages_read(&table->pages, names->offset + function->name, name,
					      left < capacity ? left : capacity))
		memset(name, 0, capacity);
	/* Clears the next name behind the end of this one. */
	left = strnlen(name, capacity);
	memset(name + left, 0, capacity - left);
}

int go_function_pcdata(struct go_table *table, const struct go_function *function, uint32_t pcdata,
		       uint32_t *values)
{
	uint32_t found = 0;
	int err = 0;

	if (pcdata < function->pcdata_count)
		err = elf_pages_read(&table->pages,
				     function->offset + table->layout.bytes +
					     pcdata * sizeof(found),
				     &found, sizeof(found));
	if (!err)
		*values = found;
	return err;
}

/* Up to 1.17: pointers, aligned, which may be relocated. */
static int funcdata_pointer(struct go_table *table, uint64_t array, uint32_t funcdata,
			    uint64_t *address)
{
	uint64_t start = table->header.address + (array - table->header.offset);

	start = (start + POINTER_BYTES - 1) / POINTER_BYTES * POINTER_BYTES;
	return elf_relocations_word(&table->relocations, &table->pages,
				    start + (uint64_t)funcdata * POINTER_BYTES, address);
}

/* From 1.18 on: offsets. */
static int funcdata_offset(struct go_table *table, uint64_t array, uint32_t funcdata,
			   uint64_t *address)
{
	uint32_t offset;
	int err = elf_pages_read(&table->pages, array + (uint64_t)funcdata * sizeof(offset),
				 &offset, sizeof(offset));

	if (err)
		return err;
	*address = offset == MISSING_FUNCDATA ? 0 : table->funcdata + offset;
	return 0;
}

int go_function_funcdata(struct go_table *table, const struct go_function *function,
			 uint32_t funcdata, uint64_t *offset, uint64_t *bytes)
{
	uint64_t array = function->offset + table->layout.bytes +
			 (uint64_t)function->pcdata_count * sizeof(uint32_t);
	uint64_t address;
	int err;

	if (funcdata >= function->funcdata_count)
		return -ENOENT;
	err = has_offsets(table) ? funcdata_offset(table, array, funcdata, &address) :
				   funcdata_pointer(table, array, funcdata, &address);
	if (err)
		return err;
	return address ? elf_image_address_offset(table->pages.image, address, offset, bytes) :
			 -ENOENT;
}

void go_values_init(struct go_values *values, struct go_table *table,
		    const struct go_function *function, uint32_t offset)
{
	const struct go_part *part = &table->header.values;
	uint32_t start = offset < part->bytes ? offset : part->bytes;

	values->table = table;
	values->end = function->end;
	values->offset = part->offset + start;
	values->offset_end = part->offset + part->bytes;
	values->address = function->start;
	values->value = -1;
	values->is_started = false;
	values->empty_left = EMPTY_STEPS_MAX;
	values->position = 0;
	values->filled = 0;
}

/* Fills the buffer for the next step, after moving the unread bytes to its front. */
static int fill(struct go_values *values)
{
	uint32_t left = values->filled - values->position;
	uint64_t available = values->offset_end - values->offset;
	uint32_t wanted = values->is_started ? sizeof(values->buffer) - left : FIRST_FILL_BYTES;
	int err;

	/* The first fill is small, since most tables are short. */
	if (wanted > sizeof(values->buffer) - left)
		wanted = sizeof(values->buffer) - left;
	memmove(values->buffer, values->buffer + values->position, left);
	wanted = wanted < available ? wanted : available;
	err = elf_pages_read(&values->table->pages, values->offset, values->buffer + left, wanted);
	if (err)
		return err;
	values->offset += wanted;
	values->filled = left + wanted;
	values->position = 0;
	return 0;
}

static int read_varint(struct go_values *values, uint32_t *number)
{
	uint32_t result = 0, shift = 0;

	while (values->position < values->filled && shift < 7 * VARINT_MAX_BYTES) {
		uint8_t byte = values->buffer[values->position++];

		result |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*number = result;
			return 0;
		}
		shift += 7;
	}
	return fail(-EBADMSG, "a table of values of Go is damaged");
}

int go_values_next(struct go_values *values, struct go_value *value)
{
	uint64_t start = values->address;
	uint32_t change, advance;
	int err = 0;

	if (start >= values->end)
		return 0;
	if (values->filled - values->position < STEP_MAX_BYTES)
		err = fill(values);
	if (!err)
		err = read_varint(values, &change);
	if (err)
		return err;
	/* An unchanged value marks the end. At the start it is allowed: the value may be -1. */
	if (!change && values->is_started)
		return 0;
	err = read_varint(values, &advance);
	if (err)
		return err;
	if (!advance && !values->empty_left--)
		return fail(-EBADMSG, "a table of values of Go makes no way");
	values->is_started |= advance != 0;
	values->value = (int32_t)((uint32_t)values->value + (-(change & 1) ^ (change >> 1)));
	values->address += (uint64_t)advance * values->table->header.quantum;
	*value = (struct go_value){
		.start = start,
		.end = values->address < values->end ? values->address : values->end,
		.value = values->value,
	};
	return 1;
}

int go_function_value(struct go_table *table, const struct go_function *function, uint32_t offset,
		      uint64_t address, int32_t *value)
{
	struct go_value found = { 0 };
	struct go_values values;
	int more;

	if (!offset) {
		*value = -1;
		return 0;
	}
	go_values_init(&values, table, function, offset);
	for (uint32_t i = 0; i < GO_VALUES_MAX_STEPS; i++) {
		more = go_values_next(&values, &found);
		if (more < 0)
			return more;
		table->step_count++;
		if (!more || address < found.end) {
			*value = more ? found.value : -1;
			return 0;
		}
	}
	return fail(-E2BIG, "a table of values of Go has too many steps");
}
