/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/ruby/ruby_loop.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/function_table.h"
#include "interpreters/x86_code.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	/** Limit of a small function, or of the beginning of one. */
	HEAD_BYTES = 192,
	/** Limit of instructions from the call of vm_exec_core() to the removal of the tag. */
	RETURNING_MAX_STEPS = 32,
	/** Limit of the code from the point where all exits of vm_exec_core() meet to its end. */
	EXIT_MAX_BYTES = 96,
	/** Size of the linker's stub for an exported function. */
	STUB_BYTES = 16,
	/** Offset of ids in ruby_global_symbols, which begins with last_id. */
	SYMBOLS_IDS = 16,
};

static int code_init(struct x86_code *code, const struct elf_image *image, struct code_range range)
{
	return x86_code_init(code, image, range, RUBY_LOOP_MAX_BYTES);
}

/* Reads the beginning of the function at @address. */
static int code_init_head(struct x86_code *code, const struct elf_image *image, uint64_t address)
{
	return x86_code_init_head(code, image, address, HEAD_BYTES);
}

int ruby_loop_follow_jump(const struct elf_image *image, struct code_range function,
			  uint64_t *address)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	uint64_t found = 0;
	int err = code_init(&code, image, function);

	while (!err && x86_code_next_known(&code)) {
		if (code.x86.kind != X86_JUMP || x86_code_has(&code, x86_code_target(&code)))
			continue;
		if (found && found != x86_code_target(&code))
			return fail(-EOPNOTSUPP, "rb_iseq_eval() jumps to several functions");
		found = x86_code_target(&code);
	}
	if (err)
		return err;
	if (!found)
		return fail(-EOPNOTSUPP, "rb_iseq_eval() does not jump to vm_exec()");
	*address = found;
	return 0;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct code_range *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Adds the cold part that the loop jumps into at @target. A range that begins there is another function. */
static void add_part(const struct function_table *table, uint64_t target, struct ruby_loop *loop)
{
	struct code_range part;

	for (uint32_t i = 0; i < loop->range_count; i++)
		if (target >= loop->ranges[i].start && target < loop->ranges[i].end)
			return;
	if (loop->range_count < LOOP_RANGES_MAX && !function_table_find(table, target, &part) &&
	    part.start != target)
		loop->ranges[loop->range_count++] = part;
}

/* Takes the function called at @target for the core if it is the largest so far. */
static void take_larger(const struct function_table *table, uint64_t target, struct ruby_loop *loop)
{
	struct code_range called;

	if (!function_table_find(table, target, &called) && called.start == target &&
	    called.end - called.start > loop->core.end - loop->core.start)
		loop->core = called;
}

int ruby_loop_find(const struct elf_image *image, uint64_t address, struct ruby_loop *loop)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	struct function_table table;
	uint32_t call_count = 0;
	int err;

	*loop = (struct ruby_loop){ .range_count = 1 };
	err = function_table_init(&table, image);
	if (!err)
		err = function_table_find(&table, address, &loop->function);
	if (!err)
		err = code_init(&code, image, loop->function);
	if (err || loop->function.start != address)
		return err && err != -ENOENT ? err : fail(-EOPNOTSUPP, "vm_exec() was not found");
	loop->ranges[0] = loop->function;
	while (x86_code_next_known(&code)) {
		if (code.x86.kind == X86_CALL && call_count++ < RUBY_LOOP_MAX_CALLS)
			take_larger(&table, x86_code_target(&code), loop);
		else if (x86_code_is_jump(&code))
			add_part(&table, x86_code_target(&code), loop);
	}
	qsort(loop->ranges, loop->range_count, sizeof(loop->ranges[0]), compare_ranges);
	if (loop->core.end - loop->core.start < RUBY_LOOP_CORE_MIN_BYTES ||
	    loop->core.end > UINT32_MAX)
		return fail(-EOPNOTSUPP, "vm_exec() calls no function that executes instructions");
	return 0;
}

int ruby_loop_check(const struct elf_image *image, const struct ruby_loop *loop,
		    const struct ruby_layout *layout)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	int err = code_init_head(&code, image, loop->core.start);

	while (!err && x86_code_next(&code)) {
		if (code.x86.kind == X86_LOAD && code.x86.reg == RUBY_LOOP_FRAME_REGISTER &&
		    code.x86.displacement == layout->context_frame)
			return 0;
	}
	return err ? err : fail(-EOPNOTSUPP, "vm_exec_core() keeps its control frame elsewhere");
}

/* A slot in a frame. */
struct frame_slot {
	uint8_t base;
	int64_t offset;
};

/* Finds the tag of vm_exec() in its frame: its address is stored in the execution context. */
static bool find_tag(struct x86_code code, const struct ruby_layout *layout, struct frame_slot *tag)
{
	struct frame_slot addresses[16] = { 0 };
	const struct x86_instruction *x86 = &code.x86;

	while (x86_code_next_known(&code)) {
		if (x86->kind == X86_STORE && x86->displacement == layout->context_tag &&
		    x86->base != X86_RSP && addresses[x86->reg & 15].offset) {
			*tag = addresses[x86->reg & 15];
			return true;
		}
		if (x86->kind == X86_ADD && (x86->base == X86_RSP || x86->base == X86_RBP))
			addresses[x86->reg & 15] =
				(struct frame_slot){ x86->base, x86->displacement };
		else if (x86->kind < X86_CALL)
			for (int i = 0; i < 16; i++)
				if (x86->writes & 1 << i)
					addresses[i].offset = 0;
	}
	return false;
}

int ruby_loop_find_jump_buffer(const struct elf_image *image, const struct ruby_loop *loop,
			       const struct ruby_layout *layout, uint16_t *bytes)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	int err = code_init(&code, image, loop->function);
	struct x86_operands operands;
	struct frame_slot tag;

	*bytes = 0;
	if (err || !find_tag(code, layout, &tag))
		return err ? err : fail(-EOPNOTSUPP, "vm_exec() has no tag");
	while (x86_code_next_known(&code)) {
		if (!x86_decode_operands(x86_code_bytes(&code), code.x86.length, &operands) ||
		    !operands.is_memory || operands.base != tag.base ||
		    operands.index != X86_NO_REGISTER)
			continue;
		/* Within a buffer of setjmp() nothing is read or written here. */
		if (operands.displacement ==
		    tag.offset + RUBY_TAG_STATE + RUBY_JUMP_BUFFER_BUILTIN) {
			*bytes = RUBY_JUMP_BUFFER_BUILTIN;
			return 0;
		}
		if (operands.displacement == tag.offset + RUBY_TAG_STATE + RUBY_JUMP_BUFFER)
			*bytes = RUBY_JUMP_BUFFER;
	}
	return *bytes ? 0 : fail(-EOPNOTSUPP, "the tag of vm_exec() has no known state");
}

/* True for je and jne. *@is_taken: the state is 0 if the branch is taken, as for je. */
static bool is_zero_branch(const struct x86_code *code, bool *is_taken)
{
	const uint8_t *bytes = x86_code_bytes(code);
	uint8_t condition = bytes[0] == 0x0f ? bytes[1] & 0x0f : bytes[0] & 0x0f;

	*is_taken = condition == 4;
	return condition == 4 || condition == 5;
}

static bool takes_tag_away(const struct x86_code *code, const struct ruby_layout *layout)
{
	return code->x86.kind == X86_STORE && code->x86.base != X86_RSP &&
	       code->x86.base != X86_RBP && code->x86.displacement == layout->context_tag;
}

/** A set of found ranges; the same range may be found again. */
struct found_ranges {
	struct ruby_code_range *ranges;
	uint32_t count;
	uint32_t limit;
};

/* Adds a range. False if the set is full, or an address does not fit into 32 bits. */
static bool add_range(struct found_ranges *found, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < found->count; i++)
		if (found->ranges[i].start == start && found->ranges[i].end == end)
			return true;
	if (found->count == found->limit || end > UINT32_MAX)
		return false;
	found->ranges[found->count++] =
		(struct ruby_code_range){ .start = (uint32_t)start, .end = (uint32_t)end };
	return true;
}

/* Follows the code after a call of vm_exec_core() to the removal of the tag. */
static int follow_return(struct x86_code code, const struct ruby_layout *layout,
			 struct found_ranges *returning)
{
	uint64_t start = code.next;
	bool is_taken;

	for (uint32_t i = 0; i < RETURNING_MAX_STEPS && x86_code_next(&code); i++) {
		if (takes_tag_away(&code, layout))
			return add_range(returning, start, code.next) ?
				       0 :
				       fail(-EOPNOTSUPP,
					    "vm_exec() has more return paths than are kept");
		is_taken = code.x86.kind == X86_JUMP;
		if (code.x86.kind == X86_BRANCH && !is_zero_branch(&code, &is_taken))
			break;
		if (code.x86.kind >= X86_CALL && !x86_code_is_jump(&code))
			break;
		if (!is_taken)
			continue;
		if (!add_range(returning, start, code.next))
			break;
		start = x86_code_target(&code);
		code.next = start;
	}
	return fail(-EOPNOTSUPP, "vm_exec() returns in a way that is not known");
}

/* True if the code at @address leads straight to the return at @end, except for a check of the stack. */
static bool leads_to_return(struct x86_code code, uint64_t address, uint64_t end)
{
	uint32_t branch_count = 0;

	code.next = address;
	while (x86_code_next(&code) && code.address < end) {
		branch_count += code.x86.kind == X86_BRANCH;
		if (code.x86.kind >= X86_CALL && (code.x86.kind != X86_BRANCH || branch_count > 1))
			return false;
	}
	return code.address == end;
}

/* The address of the only return of vm_exec_core(); 0 if there is none or more than one. */
static uint64_t find_only_return(struct x86_code code)
{
	uint64_t found = 0;

	while (x86_code_next_known(&code)) {
		if (code.x86.kind != X86_RETURN)
			continue;
		if (found)
			return 0;
		found = code.address;
	}
	return found;
}

/* The start of the code that ends with the return at @end: the first jump target that leads straight there. */
static uint64_t find_exit(struct x86_code code, uint64_t end)
{
	const struct x86_code whole = code;
	uint64_t exit = end;

	while (x86_code_next_known(&code)) {
		uint64_t target = x86_code_target(&code);

		if (x86_code_is_jump(&code) && target < exit && target + EXIT_MAX_BYTES > end &&
		    leads_to_return(whole, target, end))
			exit = target;
	}
	return exit;
}

/*
 * Adds the end of vm_exec_core(), and the code from each store that pops a control frame to the following branch to that
 * end.
 */
static int find_exits(const struct x86_code *core, const struct ruby_layout *layout,
		      struct found_ranges *returning)
{
	struct x86_code code = *core;
	uint64_t end = find_only_return(code), exit = end ? find_exit(code, end) : 0;
	uint64_t popped = 0;

	if (!end || !add_range(returning, exit, end + 1))
		return fail(-EOPNOTSUPP, "vm_exec_core() has no single return");
	while (x86_code_next_known(&code)) {
		if (x86_code_is_jump(&code) && popped && x86_code_target(&code) == exit &&
		    !add_range(returning, popped, code.next))
			return fail(-EOPNOTSUPP,
				    "vm_exec_core() has more return paths than are kept");
		if (code.x86.kind == X86_STORE && code.x86.displacement == layout->context_frame)
			popped = code.next;
		else if (code.x86.kind >= X86_CALL)
			popped = 0;
	}
	return 0;
}

int ruby_loop_find_returning(const struct elf_image *image, const struct ruby_loop *loop,
			     const struct ruby_layout *layout,
			     struct ruby_code_range ranges[RUBY_RETURNING_MAX])
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 }, core = { 0 };
	struct found_ranges returning = { .ranges = ranges, .limit = RUBY_RETURNING_MAX };
	int err = code_init(&code, image, loop->function);

	while (!err && x86_code_next_known(&code)) {
		if (code.x86.kind == X86_CALL && x86_code_target(&code) == loop->core.start)
			err = follow_return(code, layout, &returning);
	}
	if (!err)
		err = code_init(&core, image, loop->core);
	return err ? err : find_exits(&core, layout, &returning);
}

/* True for cmp $RUBY_UNDEFINED,%rax */
static bool compares_with_undefined(const struct x86_code *code)
{
	static const uint8_t compare[] = { 0x48, 0x83, 0xf8, RUBY_UNDEFINED };

	return code->next - code->address == sizeof(compare) &&
	       !memcmp(x86_code_bytes(code), compare, sizeof(compare));
}

int ruby_loop_find_code_returns(const struct elf_image *image, const struct ruby_loop *loop,
				struct ruby_code_range ranges[RUBY_CODE_RETURNS_MAX])
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	struct found_ranges returns = { .ranges = ranges, .limit = RUBY_CODE_RETURNS_MAX };
	int err = code_init(&code, image, loop->function);
	uint64_t start = 0;

	while (!err && x86_code_next_known(&code)) {
		if (start && code.x86.kind == X86_BRANCH && !add_range(&returns, start, code.next))
			err = fail(-EOPNOTSUPP,
				   "vm_exec() has more calls of generated code than are kept");
		if (code.x86.kind == X86_CALL_INDIRECT)
			start = code.next;
		else if (!compares_with_undefined(&code))
			start = 0;
	}
	return err;
}

/* Finds the next direct call or jump to @target from code->next on, in all bytes without decoding; false: none. */
static bool next_call(struct x86_code *code, uint64_t target)
{
	const uint8_t *bytes = code->bytes.data;
	int32_t distance;

	for (size_t i = code->next - code->start; i + 5 <= code->bytes.size; i++) {
		if (bytes[i] != 0xe8 && bytes[i] != 0xe9 &&
		    !(i && bytes[i - 1] == 0x0f && (bytes[i] & 0xf0) == 0x80))
			continue;
		memcpy(&distance, bytes + i + 1, sizeof(distance));
		code->address = code->start + i;
		code->next = code->address + 1;
		if (code->address + 5 + (uint64_t)(int64_t)distance == target)
			return true;
	}
	return false;
}

static int find_callers(struct x86_code *code, const struct function_table *table, uint64_t called,
			struct found_ranges *found)
{
	while (next_call(code, called)) {
		struct code_range function;

		if (!function_table_find(table, code->address, &function) &&
		    !add_range(found, function.start, function.end))
			return fail(-EOPNOTSUPP, "vm_exec() is called by too many functions");
	}
	return 0;
}

/* Adds the functions of the file itself that rb_iseq_eval() calls. */
static int find_pushers(const struct elf_image *image, const struct function_table *table,
			struct code_range eval, struct found_ranges *found)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	int err = code_init(&code, image, eval);

	while (!err && x86_code_next_known(&code)) {
		struct code_range function;

		if (code.x86.kind == X86_CALL &&
		    !function_table_find(table, x86_code_target(&code), &function) &&
		    function.start == x86_code_target(&code) &&
		    !add_range(found, function.start, function.end))
			err = fail(-EOPNOTSUPP, "rb_iseq_eval() calls too many functions");
	}
	return err;
}

int ruby_loop_find_entering(const struct elf_image *image, uint64_t called, struct code_range eval,
			    struct ruby_code_range ranges[RUBY_ENTERING_MAX])
{
	struct found_ranges found = { .ranges = ranges, .limit = RUBY_ENTERING_MAX };
	struct function_table table;
	int err = function_table_init(&table, image);

	for (uint32_t i = 0; !err && i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];
		const struct code_range range = { segment->address,
						  segment->address + segment->file_bytes };
		_cleanup_(x86_code_deinit) struct x86_code code = { 0 };

		if (segment->type != PT_LOAD || !(segment->flags & PF_X) || !segment->file_bytes)
			continue;
		err = x86_code_init(&code, image, range, RUBY_LOOP_MAX_TEXT_BYTES);
		if (!err)
			err = find_callers(&code, &table, called, &found);
	}
	if (!err && !found.count)
		err = fail(-EOPNOTSUPP, "nothing calls vm_exec()");
	/* Covers the linker's stub, or the beginning of vm_exec(), which pushes nothing. */
	if (!err && !add_range(&found, called, called + STUB_BYTES))
		err = fail(-EOPNOTSUPP, "vm_exec() is called by too many functions");
	return err ? err : find_pushers(image, &table, eval, &found);
}

bool ruby_loop_has_loads(const struct elf_image *image, uint64_t address, const int64_t *expected,
			 uint32_t count)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	uint32_t found = 0;

	if (code_init_head(&code, image, address))
		return false;
	while (x86_code_next(&code) && code.x86.kind < X86_CALL) {
		if (code.x86.kind != X86_LOAD || code.x86.base == X86_RSP)
			continue;
		if (found == count || code.x86.displacement != expected[found])
			return false;
		found++;
	}
	return found == count && code.x86.kind == X86_RETURN;
}

/*
 * Finds a cmp with last_id, then a mov of ids; a return may come before them. Stops at a jump, and after both are
 * found. They are in rb_id2str() itself, or in the function that it jumps to.
 */
static uint64_t find_symbols_in(struct x86_code *code, uint64_t *last_id)
{
	uint64_t operand;

	while (x86_code_next(code) && code->x86.kind != X86_JUMP) {
		operand = x86_code_relative(code, false, 0x39);
		if (!operand)
			operand = x86_code_relative(code, false, 0x3b);
		if (operand)
			*last_id = operand;
		operand = x86_code_relative(code, true, 0x8b);
		if (*last_id && operand == *last_id + SYMBOLS_IDS)
			return *last_id;
	}
	return 0;
}

int ruby_loop_find_symbols(const struct elf_image *image, uint64_t address, uint64_t *symbols)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 }, jumped = { 0 };
	uint64_t last_id = 0;
	int err = address ? code_init_head(&code, image, address) : -ENOENT;

	*symbols = err ? 0 : find_symbols_in(&code, &last_id);
	if (*symbols)
		return 0;
	if (err || code.x86.kind != X86_JUMP)
		return fail(-EOPNOTSUPP, "rb_id2str() is of another shape");
	err = code_init_head(&jumped, image, x86_code_target(&code));
	*symbols = err ? 0 : find_symbols_in(&jumped, &last_id);
	return *symbols ? 0 : fail(-EOPNOTSUPP, "the table of symbols was not found");
}

/* Finds the offset from rax of the byte whose bit 5 becomes the result; false for other instructions. */
static bool reads_flag(const struct x86_code *code, uint16_t *offset)
{
	/* movzbl offset(%rax),%eax; shr $5,%al */
	static const uint8_t load[] = { 0x0f, 0xb6, 0x40 }, shift[] = { 0xc0, 0xe8, 0x05 };
	const uint8_t *bytes = x86_code_bytes(code);

	if (code->x86.length != sizeof(load) + 1 || memcmp(bytes, load, sizeof(load)) != 0 ||
	    code->next + sizeof(shift) - code->start > code->bytes.size ||
	    memcmp(bytes + code->x86.length, shift, sizeof(shift)) != 0)
		return false;
	*offset = bytes[sizeof(load)];
	return true;
}

enum { GLOBAL_LOADS_MAX = 3 };

/* The loads of a small function: the first one from a global address, each other one from the last result. */
struct global_loads {
	uint64_t address;
	/** The function loads the word at the address; else it takes the address itself. */
	bool is_word;
	int64_t offsets[GLOBAL_LOADS_MAX];
	uint32_t count;
};

/* Adds the instruction if it is a load. False if there are too many loads, or an offset is invalid. */
static bool add_load(const struct x86_code *code, struct global_loads *loads)
{
	uint64_t address = x86_code_relative(code, true, 0x8d);
	uint64_t word = x86_code_relative(code, true, 0x8b);

	if (!loads->address && (address || word)) {
		loads->address = address ? address : word;
		loads->is_word = word;
		return true;
	}
	if (code->x86.kind != X86_LOAD || code->x86.base == X86_RSP)
		return true;
	if (loads->count == GLOBAL_LOADS_MAX || code->x86.displacement < 0 ||
	    code->x86.displacement > UINT16_MAX)
		return false;
	loads->offsets[loads->count++] = code->x86.displacement;
	return true;
}

/* Finds the pointer from which @count words are loaded in turn: the word at the address, or one that it points to. */
static bool take_pointer_of(const struct global_loads *loads, uint32_t count,
			    struct ruby_pointer *pointer)
{
	bool is_own = loads->is_word && loads->count == count;

	if (!loads->address || (!is_own && (loads->count != count + 1 || loads->offsets[0])))
		return false;
	*pointer = (struct ruby_pointer){ .address = loads->address,
					  .is_indirect = loads->is_word && !is_own };
	return true;
}

int ruby_loop_find_context(const struct elf_image *image, uint64_t address,
			   const struct ruby_layout *layout, struct ruby_pointer *pointer)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	struct global_loads loads = { 0 };
	struct ruby_pointer found;
	int err = code_init_head(&code, image, address);

	while (!err && x86_code_next(&code) && code.x86.kind < X86_CALL && add_load(&code, &loads))
		;
	if (err || code.x86.kind != X86_RETURN || !take_pointer_of(&loads, 2, &found) ||
	    loads.offsets[loads.count - 2] != layout->context_thread ||
	    loads.offsets[loads.count - 1] != layout->thread_self)
		return fail(-EOPNOTSUPP, "rb_thread_current() is of another shape");
	*pointer = found;
	return 0;
}

int ruby_loop_find_collector(const struct elf_image *image, uint64_t address,
			     struct ruby_collector *collector)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	struct global_loads loads = { 0 };
	struct ruby_collector found = { 0 };
	int err = address ? code_init_head(&code, image, address) : -ENOENT;

	while (!err && x86_code_next(&code) &&
	       (code.x86.kind < X86_CALL || code.x86.kind == X86_BRANCH)) {
		if (reads_flag(&code, &found.flags)) {
			if (!take_pointer_of(&loads, 1, &found.vm))
				break;
			found.vm_collector = (uint16_t)loads.offsets[loads.count - 1];
			*collector = found;
			return 0;
		}
		if (!add_load(&code, &loads))
			break;
	}
	return fail(-EOPNOTSUPP, "rb_during_gc() is of another shape");
}

static bool code_starts_with(const struct x86_code *code, uint64_t offset, const uint8_t *bytes,
			     size_t size)
{
	return offset + size <= code->bytes.size && !memcmp(code->bytes.data + offset, bytes, size);
}

bool ruby_loop_saves_registers(const struct elf_image *image, uint64_t address)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	/* push of %rbp, %rbx, %r12 to %r15, or sub $48,%rsp and a mov of each; then mov %rsp,(%rdi). */
	static const uint8_t pushes[] = { 0x55, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41,
					  0x56, 0x41, 0x57, 0x48, 0x89, 0x27 };
	static const uint8_t moves[] = { 0x48, 0x83, 0xec, 0x30, 0x48, 0x89, 0x6c, 0x24, 0x28,
					 0x48, 0x89, 0x5c, 0x24, 0x20, 0x4c, 0x89, 0x64, 0x24,
					 0x18, 0x4c, 0x89, 0x6c, 0x24, 0x10, 0x4c, 0x89, 0x74,
					 0x24, 0x08, 0x4c, 0x89, 0x3c, 0x24, 0x48, 0x89, 0x27 };
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	uint64_t start;

	if (!address || code_init_head(&code, image, address))
		return false;
	start = code_starts_with(&code, 0, endbr, sizeof(endbr)) ? sizeof(endbr) : 0;
	return code_starts_with(&code, start, pushes, sizeof(pushes)) ||
	       code_starts_with(&code, start, moves, sizeof(moves));
}
