/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/php/php_traces.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/isa/x86_decode.h"

enum {
	/* Code of an exit, and the end of a group of exits. */
	EXIT_BYTES = 16,
	/* Limits of the code that leaves a trace, up to its first call, and of the part of zend_jit_trace_exit(). */
	LEAVING_BYTES = 512,
	USING_BYTES = 512,
	/* Elements that must have their own indexes. */
	CHECKED = 3,
	/* Limit of the exits of a trace of which one is looked for. */
	SEARCHED_EXITS = 256,
	/* zend_jit_trace_exit_info: flags, of which one says that a trace has replaced the exit. */
	EXIT_FLAGS = 16,
	EXIT_IS_REPLACED = 1,
};

/* zend_jit_trace_info, zend_jit_internal.h; the same in 8.0 to 8.4. */
struct trace_info {
	uint32_t id;
	uint32_t root;
	uint32_t parent;
	uint32_t link;
	uint32_t exit_count;
	uint32_t child_count;
	uint32_t code_size;
	uint32_t unused[5];
	uint64_t op_array;
	uint64_t opline;
	uint64_t code_start;
	uint64_t exit_info;
};

void php_traces_init(struct php_traces *traces, const struct php_layout *layout)
{
	*traces = (struct php_traces){ .layout = layout };
}

static int read_info(const struct php_traces *traces, struct remote_memory *memory, uint64_t table,
		     uint32_t index, struct trace_info *info)
{
	return remote_memory_read(memory, table + (uint64_t)index * traces->layout->trace_bytes,
				  info, sizeof(*info));
}

static bool is_table(const struct php_traces *traces, struct remote_memory *memory, uint64_t table)
{
	struct trace_info info;
	uint32_t count;

	if (table % sizeof(table) || read_info(traces, memory, table, 0, &info))
		return false;
	count = info.id;
	if (count < 2 || count > PHP_TRACES_MAX)
		return false;
	for (uint32_t i = 1; i < count && i <= CHECKED; i++)
		if (read_info(traces, memory, table, i, &info) || info.id != i || !info.code_start)
			return false;
	return true;
}

/* Looks for the address of the table among the variables that the code at @address loads. */
static void find_table(struct php_traces *traces, struct remote_memory *memory, uint64_t address)
{
	uint8_t bytes[USING_BYTES];
	struct x86_instruction x86;
	uint64_t value;

	if (remote_memory_read(memory, address, bytes, sizeof(bytes)))
		return;
	for (size_t i = 0; i < sizeof(bytes) && x86_decode(bytes + i, sizeof(bytes) - i, &x86);
	     i += x86.length) {
		if (x86.kind != X86_LOAD || !x86.is_pc_relative)
			continue;
		if (!remote_memory_read(memory,
					address + i + x86.length + (uint64_t)x86.displacement,
					&value, sizeof(value)) &&
		    is_table(traces, memory, value)) {
			traces->table = value;
			return;
		}
	}
}

/* The same, from the code that leaves a trace: it calls the function that uses the table. */
static void search(struct php_traces *traces, struct remote_memory *memory, uint64_t leaving)
{
	uint8_t bytes[LEAVING_BYTES];
	struct x86_instruction x86;
	uint64_t constant = 0;

	if (!traces->layout->trace_bytes || traces->searches == PHP_TRACES_MAX_SEARCHES ||
	    remote_memory_read(memory, leaving, bytes, sizeof(bytes)))
		return;
	traces->searches++;
	for (size_t i = 0; i < sizeof(bytes) && x86_decode(bytes + i, sizeof(bytes) - i, &x86);
	     i += x86.length) {
		/* movabs $n,%rax */
		if (x86.length == 10 && bytes[i] == 0x48 && bytes[i + 1] == 0xb8)
			memcpy(&constant, bytes + i + 2, sizeof(constant));
		if (x86.kind == X86_CALL)
			constant = leaving + i + x86.length + (uint64_t)x86.displacement;
		if (x86.kind == X86_CALL || x86.kind == X86_CALL_INDIRECT) {
			find_table(traces, memory, constant);
			return;
		}
	}
}

int php_traces_exit_at(struct php_traces *traces, struct remote_memory *memory, uint64_t address,
		       uint32_t *number)
{
	uint8_t bytes[EXIT_BYTES];
	struct x86_instruction x86;
	uint64_t end;
	int32_t base = 0;
	int err = remote_memory_read(memory, address, bytes, sizeof(bytes));

	if (err)
		return err;
	/* push $n; then, but for the last exit of a group, a jump to its end */
	if (bytes[0] != 0x6a)
		return -ENOENT;
	*number = bytes[1];
	end = address + 2;
	if (bytes[2] == 0xeb)
		end += 2 + (uint64_t)(int64_t)(int8_t)bytes[3];
	err = remote_memory_read(memory, end, bytes, sizeof(bytes));
	if (err)
		return err;
	/* add $first,(%rsp); jmp, where the first exit of the group has the number $first */
	if (bytes[0] != 0x48 || (bytes[1] != 0x81 && bytes[1] != 0x83) || bytes[2] != 0x04 ||
	    bytes[3] != 0x24)
		return -ENOENT;
	if (bytes[1] == 0x81)
		memcpy(&base, bytes + 4, sizeof(base));
	else
		base = (int8_t)bytes[4];
	*number += (uint32_t)base;
	end += bytes[1] == 0x81 ? 8 : 5;
	if (!traces->table &&
	    x86_decode(bytes + (bytes[1] == 0x81 ? 8 : 5), EXIT_BYTES - 8, &x86) &&
	    x86.kind == X86_JUMP)
		search(traces, memory, end + x86.length + (uint64_t)x86.displacement);
	return 0;
}

int php_traces_find(const struct php_traces *traces, struct remote_memory *memory, uint64_t address,
		    struct php_trace *trace)
{
	uint32_t low = 1, high;
	struct trace_info info;
	int err;

	if (!traces->table)
		return -ENOENT;
	err = read_info(traces, memory, traces->table, 0, &info);
	if (err)
		return err;
	high = info.id < PHP_TRACES_MAX ? info.id : PHP_TRACES_MAX;
	/* Code is generated in the order of the indexes. The last one that begins at or below the address is at low - 1. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		err = read_info(traces, memory, traces->table, middle, &info);
		if (err)
			return err;
		if (info.code_start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 1)
		return -ENOENT;
	err = read_info(traces, memory, traces->table, low - 1, &info);
	if (err)
		return err;
	if (address - info.code_start >= info.code_size)
		return -ENOENT;
	*trace = (struct php_trace){ .function = info.op_array,
				     .first = info.opline,
				     .code = info.code_start,
				     .code_end = info.code_start + info.code_size,
				     .exits = info.exit_info,
				     .exit_count = info.exit_count };
	return 0;
}

int php_traces_exit(const struct php_traces *traces, struct remote_memory *memory,
		    const struct php_trace *trace, uint32_t number, uint64_t *opline)
{
	if (number >= trace->exit_count)
		return fail(-ENOENT, "exit %u of %u", number, trace->exit_count);
	return remote_memory_read(memory,
				  trace->exits + (uint64_t)number * traces->layout->exit_bytes,
				  opline, sizeof(*opline));
}

int php_traces_replaced_exit(const struct php_traces *traces, struct remote_memory *memory,
			     const struct php_trace *trace, uint32_t limit, uint64_t *opline)
{
	uint32_t number = trace->exit_count < limit ? trace->exit_count : limit;

	for (uint32_t i = 0; number-- && i < SEARCHED_EXITS; i++) {
		uint8_t bytes[EXIT_FLAGS + 1];
		int err = remote_memory_read(
			memory, trace->exits + (uint64_t)number * traces->layout->exit_bytes, bytes,
			sizeof(bytes));

		if (err)
			return err;
		if (bytes[EXIT_FLAGS] & EXIT_IS_REPLACED) {
			memcpy(opline, bytes, sizeof(*opline));
			return 0;
		}
	}
	return -ENOENT;
}
