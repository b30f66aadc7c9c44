/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/php/php_code.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/function_table.h"
#include "interpreters/php/code_graph.h"
#include "interpreters/x86_code.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	/** Limit of the epilogue of execute_ex(), from the restored registers to its end. */
	END_MAX_BYTES = 64,
	/** Limit of instructions from the read of zend_execute_ex to the call. */
	CALL_MAX_DISTANCE = 6,
	/** Size of a pc-relative lea to r15. */
	LEA_R15_BYTES = 7,
	HEAD_BYTES = 96,
};

/** Flags of nodes: kinds of instructions. */
enum {
	/** Leaves the function. */
	IS_EXIT = 1 << 0,
	/** Stores to EG(current_execute_data). */
	IS_STORE = 1 << 1,
	/** Begins the return of execute_ex(). */
	IS_HALT = 1 << 2,
	/** Calls execute_ex() through zend_execute_ex. */
	IS_LOOP_CALL = 1 << 3,
	/** Calls a function that puts an execute_data into the list. */
	IS_INIT = 1 << 4,
};

/** Marks of nodes: answers to questions. */
enum {
	MAY_EXIT = 1 << 0,
	MAY_HALT = 1 << 1,
	IS_BEHIND_STORE = 1 << 2,
	IS_BEHIND_INIT = 1 << 3,
	IS_BEFORE_CALL = 1 << 4,
	IS_BEHIND_CALL = 1 << 5,
	IS_BEFORE_STORE = 1 << 6,
};

/** State of the search in code. */
struct finder {
	const struct elf_image *image;
	const struct php_symbols *symbols;
	struct function_table table;
	/** Addresses of the code by which execute_ex() returns, and of hybrid_halt_op. */
	uint64_t halt_label;
	uint64_t halt_op;
	/** Number of instructions since zend_execute_ex was read; more than CALL_MAX_DISTANCE: it was not. */
	uint32_t call_distance;
	struct php_code *code;
	uint32_t left_count;
	uint32_t entering_count;
	uint32_t resumed_count;
	uint32_t preparing_count;
};

static bool is_pointer_read(const struct finder *finder, const struct x86_code *code)
{
	uint64_t pointer = finder->symbols->execute_pointer;

	return x86_code_relative(code, true, 0x8d) == pointer ||
	       x86_code_relative(code, true, 0x8b) == pointer ||
	       import_slots_at(&finder->symbols->slots, x86_code_relative(code, true, 0x8b)) ==
		       pointer;
}

/* True if the current instruction calls a function that puts an execute_data into the list. */
static bool is_init(const struct finder *finder, const struct x86_code *code)
{
	uint64_t target;

	if (code->x86.kind != X86_CALL && code->x86.kind != X86_CALL_INDIRECT)
		return false;
	target = import_slots_target(&finder->symbols->slots, code);
	return target && (target == finder->symbols->init[0] || target == finder->symbols->init[1]);
}

/*
 * A library has the address of the globals in a register. With threads one has the thread's memory, and maybe another one the offset
 * of the globals. Code of a program names the variable.
 */
static bool is_store(const struct finder *finder, const struct x86_code *code)
{
	const struct php_symbols *symbols = finder->symbols;

	if (code->x86.kind != X86_STORE)
		return false;
	if (code->x86.is_pc_relative)
		return symbols->globals && code->next + (uint64_t)code->x86.displacement ==
						   symbols->globals + symbols->current;
	return code->x86.base != X86_RSP && code->x86.displacement == symbols->current;
}

static bool is_halt(const struct finder *finder, const struct x86_code *code)
{
	return code->address == finder->halt_label ||
	       (finder->halt_op && code->x86.length == LEA_R15_BYTES && code->x86.reg == X86_R15 &&
		x86_code_relative(code, true, 0x8d) == finder->halt_op);
}

/* True if the current instruction calls through zend_execute_ex: through a register that has the pointer, or as code of a program does. */
static bool is_loop_call(const struct finder *finder, const struct x86_code *code)
{
	if (code->x86.kind != X86_CALL_INDIRECT)
		return false;
	return finder->call_distance < CALL_MAX_DISTANCE ||
	       (code->x86.is_pc_relative &&
		code->next + (uint64_t)code->x86.displacement == finder->symbols->execute_pointer);
}

static uint8_t classify(const struct x86_code *code, void *context)
{
	struct finder *finder = context;
	uint8_t flags = 0;

	if (is_store(finder, code))
		flags |= IS_STORE;
	if (is_halt(finder, code))
		flags |= IS_HALT;
	if (is_init(finder, code))
		flags |= IS_INIT;
	if (is_loop_call(finder, code))
		flags |= IS_LOOP_CALL;
	finder->call_distance = is_pointer_read(finder, code) ? 0 : finder->call_distance + 1;
	return flags;
}

static int init_graph(struct finder *finder, struct code_range range, struct code_graph *graph)
{
	const struct code_graph_user user = {
		.classify = classify,
		.context = finder,
		.exit_flag = IS_EXIT,
		.part_limit = PHP_CODE_MAX_BYTES,
	};

	finder->call_distance = CALL_MAX_DISTANCE;
	return code_graph_init(graph, finder->image, &finder->table, range, &user);
}

static int find_function(const struct finder *finder, uint64_t address, struct code_range *range)
{
	int err = function_table_find(&finder->table, address, range);

	if (!err && range->start == address)
		return 0;
	return err && err != -ENOENT ?
		       err :
		       fail(-EOPNOTSUPP, "no function begins at %#" PRIx64, address);
}

/* True if the code at @address leads straight to a return; *@end is the address after it. */
static bool leads_to_return(struct x86_code code, uint64_t address, uint64_t *end)
{
	code.next = address;
	while (x86_code_next(&code) && code.address - address < END_MAX_BYTES) {
		*end = code.next;
		if (code.x86.kind == X86_RETURN)
			return true;
		/* The branch belongs to the check for an overwritten stack. */
		if (code.x86.kind >= X86_CALL && code.x86.kind != X86_BRANCH)
			return false;
	}
	return false;
}

/* The size of the frame that the code at @address, which leads to a return, takes down. 0: it is too large. */
static uint16_t frame_bytes_at(struct x86_code code, uint64_t address)
{
	int64_t bytes = 0;

	code.next = address;
	while (x86_code_next(&code) && code.x86.kind != X86_RETURN) {
		if (code.x86.kind == X86_POP)
			bytes += 8;
		else if (code.x86.kind == X86_ADD && code.x86.reg == X86_RSP &&
			 code.x86.base == X86_RSP)
			bytes += code.x86.displacement;
	}
	bytes += 8;
	return bytes > 0 && bytes <= UINT16_MAX ? (uint16_t)bytes : 0;
}

/*
 * Finds the code by which execute_ex() returns. When execute_ex() is called for the first time, it stores the address
 * of that label as the handler of hybrid_halt_op: a lea, and a mov of the same register.
 */
static int find_halt(struct finder *finder, struct code_range range)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	int err = x86_code_init(&code, finder->image, range, PHP_CODE_MAX_BYTES);
	uint64_t label = 0, end = 0;
	uint8_t reg = 0;

	while (!err && x86_code_next_known(&code)) {
		uint64_t operand = x86_code_relative(&code, true, 0x8d);
		uint8_t operand_reg = code.x86.reg;

		if (operand && x86_code_has(&code, operand) &&
		    leads_to_return(code, operand, &end)) {
			label = operand;
			reg = operand_reg;
			continue;
		}
		operand = x86_code_relative(&code, true, 0x89);
		if (!label || !operand || operand_reg != reg)
			continue;
		finder->halt_label = label;
		finder->halt_op = operand;
		finder->code->end = (struct php_code_range){ (uint32_t)label, (uint32_t)end };
		finder->code->frame_bytes = frame_bytes_at(code, label);
		return 0;
	}
	return err ? err : fail(-EOPNOTSUPP, "execute_ex() returns in a way that is not known");
}

/* Adds the return addresses of the calls that are made after the last execute_data was removed. */
static int add_left(struct finder *finder, struct code_graph *graph)
{
	code_graph_mark_before(graph, IS_EXIT, IS_HALT, MAY_EXIT);
	code_graph_mark_before(graph, IS_HALT, 0, MAY_HALT);
	code_graph_mark_behind(graph, IS_STORE, IS_HALT, IS_BEHIND_STORE);
	for (uint32_t i = 0; i < graph->count; i++) {
		const struct code_graph_node *node = &graph->nodes[i];

		if ((node->kind != X86_CALL && node->kind != X86_CALL_INDIRECT) ||
		    (node->marks & (MAY_EXIT | MAY_HALT | IS_BEHIND_STORE)) !=
			    (MAY_HALT | IS_BEHIND_STORE))
			continue;
		if (finder->left_count == PHP_LEFT_MAX)
			return fail(-EOPNOTSUPP,
				    "execute_ex() has more return paths than are kept");
		finder->code->left[finder->left_count++] = node->address + node->length;
	}
	return 0;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct code_range *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static int look_at_loop(struct finder *finder)
{
	_cleanup_(code_graph_deinit) struct code_graph graph = { 0 };
	struct code_range range;
	int err = find_function(finder, finder->symbols->execute, &range);

	if (!err)
		err = find_halt(finder, range);
	if (!err)
		err = init_graph(finder, range, &graph);
	if (err)
		return err;
	memcpy(finder->code->ranges, graph.parts, sizeof(graph.parts));
	finder->code->range_count = graph.part_count;
	qsort(finder->code->ranges, graph.part_count, sizeof(graph.parts[0]), compare_ranges);
	return add_left(finder, &graph);
}

/** Parts of functions that were searched. */
struct seen_parts {
	struct code_range ranges[PHP_CODE_MAX_LEAVING * CODE_GRAPH_PARTS_MAX];
	uint32_t count;
};

static bool is_seen(const struct seen_parts *seen, uint64_t address)
{
	for (uint32_t i = 0; i < seen->count; i++)
		if (address >= seen->ranges[i].start && address < seen->ranges[i].end)
			return true;
	return false;
}

/* Searches the function whose instruction at @address makes execute_ex() return. */
static int look_at_leaving(struct finder *finder, struct seen_parts *seen, uint64_t address)
{
	_cleanup_(code_graph_deinit) struct code_graph graph = { 0 };
	struct code_range range;
	int err;

	if (is_seen(seen, address) || function_table_find(&finder->table, address, &range))
		return 0;
	err = init_graph(finder, range, &graph);
	if (err)
		return err;
	if (seen->count + graph.part_count > sizeof(seen->ranges) / sizeof(seen->ranges[0]))
		return fail(-EOPNOTSUPP, "too many functions have execute_ex() return");
	memcpy(seen->ranges + seen->count, graph.parts, graph.part_count * sizeof(graph.parts[0]));
	seen->count += graph.part_count;
	return add_left(finder, &graph);
}

/* Searches all functions that leave hybrid_halt_op in r15. */
static int look_at_text(struct finder *finder, struct seen_parts *seen, struct code_range text)
{
	static const uint8_t lea_r15[] = { 0x4c, 0x8d, 0x3d };
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	const uint8_t *bytes, *found, *end;
	int err = x86_code_init(&code, finder->image, text, PHP_CODE_MAX_TEXT_BYTES);

	if (err)
		return err;
	bytes = code.bytes.data;
	end = bytes + code.bytes.size;
	for (found = bytes; !err; found++) {
		int32_t distance;
		uint64_t next;

		found = memmem(found, (size_t)(end - found), lea_r15, sizeof(lea_r15));
		if (!found || end - found < LEA_R15_BYTES)
			break;
		memcpy(&distance, found + sizeof(lea_r15), sizeof(distance));
		next = text.start + (uint64_t)(found - bytes) + LEA_R15_BYTES;
		if (next + (uint64_t)(int64_t)distance == finder->halt_op)
			err = look_at_leaving(finder, seen, next - LEA_R15_BYTES);
	}
	return err;
}

static int look_at_leaving_functions(struct finder *finder)
{
	const struct elf_image *image = finder->image;
	_cleanup_(free_pointer) struct seen_parts *seen = calloc(1, sizeof(*seen));
	int err = seen ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->type == PT_LOAD && segment->flags & PF_X && segment->file_bytes)
			err = look_at_text(
				finder, seen,
				(struct code_range){ segment->address,
						     segment->address + segment->file_bytes });
	}
	return err;
}

/* Adds the instructions that have all of @marks; adjacent ones become one range. */
static int add_ranges(const struct code_graph *graph, uint8_t marks, struct php_code_range *ranges,
		      uint32_t *count, uint32_t limit)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < graph->count; i++) {
		const struct code_graph_node *node = &graph->nodes[i];

		if ((node->marks & marks) != marks)
			continue;
		if (!end || end != node->address) {
			if (*count == limit)
				return fail(-EOPNOTSUPP, "execute_ex() is called in too many ways");
			ranges[(*count)++].start = node->address;
		}
		end = node->address + node->length;
		ranges[*count - 1].end = end;
	}
	return 0;
}

/* Adds the function, since it has another execute_data in the register of VM code. */
static int add_preparing(struct finder *finder, const struct code_graph *graph)
{
	for (uint32_t i = 0; i < graph->part_count; i++) {
		if (finder->preparing_count == PHP_PREPARING_MAX)
			return fail(-EOPNOTSUPP,
				    "functions that call execute_ex() have many parts");
		finder->code->preparing[finder->preparing_count++] =
			(struct php_code_range){ (uint32_t)graph->parts[i].start,
						 (uint32_t)graph->parts[i].end };
	}
	return 0;
}

/*
 * Searches the function at @address, which calls execute_ex(). Adds the code between the insertion of an execute_data
 * into the list and that call; for generators, also the code between the call and the removal of the execute_data.
 */
static int look_at_calling(struct finder *finder, uint64_t address)
{
	_cleanup_(code_graph_deinit) struct code_graph graph = { 0 };
	struct php_code *code = finder->code;
	struct code_range range;
	int err = find_function(finder, address, &range);

	if (!err)
		err = init_graph(finder, range, &graph);
	if (err)
		return err;
	code_graph_mark_behind(&graph, IS_STORE | IS_INIT, IS_LOOP_CALL | IS_STORE, IS_BEHIND_INIT);
	code_graph_mark_before(&graph, IS_LOOP_CALL, IS_STORE, IS_BEFORE_CALL);
	code_graph_mark_behind(&graph, IS_LOOP_CALL, IS_STORE, IS_BEHIND_CALL);
	code_graph_mark_before(&graph, IS_STORE, IS_LOOP_CALL, IS_BEFORE_STORE);
	for (uint32_t i = 0; i < graph.count; i++)
		if (graph.nodes[i].flags & IS_STORE && graph.nodes[i].marks & IS_BEHIND_INIT)
			graph.nodes[i].marks &= (uint8_t)~IS_BEFORE_CALL;
	err = add_preparing(finder, &graph);
	if (!err)
		err = add_ranges(&graph, IS_BEHIND_INIT | IS_BEFORE_CALL, code->entering,
				 &finder->entering_count, PHP_ENTERING_MAX);
	if (err || address != finder->symbols->resume)
		return err;
	return add_ranges(&graph, IS_BEHIND_CALL | IS_BEFORE_STORE, code->resumed,
			  &finder->resumed_count, PHP_RESUMED_MAX);
}

/* Searches the function at @address, which puts an execute_data into the list. Adds the code from there to its end. */
static int look_at_init(struct finder *finder, uint64_t address)
{
	_cleanup_(code_graph_deinit) struct code_graph graph = { 0 };
	struct code_range range;
	int err = find_function(finder, address, &range);

	if (!err)
		err = init_graph(finder, range, &graph);
	if (err)
		return err;
	err = add_preparing(finder, &graph);
	if (err)
		return err;
	code_graph_mark_behind(&graph, IS_STORE, 0, IS_BEHIND_STORE);
	return add_ranges(&graph, IS_BEHIND_STORE, finder->code->entering, &finder->entering_count,
			  PHP_ENTERING_MAX);
}

static int look_at_entering_functions(struct finder *finder)
{
	const struct php_symbols *symbols = finder->symbols;
	int err = 0;

	for (uint32_t i = 0; !err && i < sizeof(symbols->init) / sizeof(symbols->init[0]); i++)
		err = look_at_init(finder, symbols->init[i]);
	for (uint32_t i = 0; !err && i < sizeof(symbols->calling) / sizeof(symbols->calling[0]);
	     i++)
		err = look_at_calling(finder, symbols->calling[i]);
	if (!err)
		err = look_at_calling(finder, symbols->resume);
	if (!err && (!finder->entering_count || !finder->left_count))
		err = fail(-EOPNOTSUPP, "execute_ex() is called in a way that is not known");
	return err;
}

/* The range of the function at @address; {0, 0}: it is not found. */
static struct php_code_range range_of(const struct finder *finder, uint64_t address)
{
	struct code_range range = { 0 };

	if (!address || find_function(finder, address, &range))
		return (struct php_code_range){ 0 };
	return (struct php_code_range){ (uint32_t)range.start, (uint32_t)range.end };
}

int php_code_find(const struct elf_image *image, const struct php_symbols *symbols,
		  struct php_code *code)
{
	struct finder finder = { .image = image, .symbols = symbols, .code = code };
	int err;

	*code = (struct php_code){ 0 };
	err = function_table_init(&finder.table, image);
	/* Without it some samples of generated code have an error frame. */
	if (!err)
		code->releasing = range_of(&finder, symbols->releasing);
	/* Without it the stacks of fibers end where they begin. */
	if (!err)
		code->switching = range_of(&finder, symbols->switching);
	if (!err)
		err = look_at_loop(&finder);
	if (!err)
		err = look_at_leaving_functions(&finder);
	return err ? err : look_at_entering_functions(&finder);
}

bool php_code_has_bytes(const struct elf_image *image, uint64_t address, const uint8_t *bytes,
			size_t size)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };

	return !x86_code_init_head(&code, image, address, HEAD_BYTES) &&
	       memmem(code.bytes.data, code.bytes.size, bytes, size);
}
