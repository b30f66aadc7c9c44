/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over blocks. It starts with the known functions, continues with the possible targets of their
 * jump tables, and ends with unreached code behind ends of code: mostly functions that are called only
 * by pointer.
 */
#include "stackdeltas/code/code_flow.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "stackdeltas/code/code_hotspot.h"
#include "stackdeltas/code/code_trial.h"
#include "stackdeltas/code/known_code.h"
#include "stackdeltas/code/stack_switch.h"

enum {
	/* Limit of the search for targets of jump tables in a function. */
	TABLE_SEARCH_BYTES = 1 << 16,
	NO_OFFSET = UINT32_MAX,
	/*
	 * Compilers' blocks have 12 bytes and more on average. A chunk with a smaller average is no code, and
	 * would need much memory.
	 */
	MIN_BLOCK_BYTES = 4,
	MAX_DENSE_LEADERS = 4096,
};

/* How a path reaches a block. */
enum edge {
	EDGE_JUMP,
	EDGE_FALL,
	/* Behind a call, with only padding between. */
	EDGE_RETURN,
};

/* A path through a block. */
struct walk {
	struct code_state state;
	uint32_t function;
	uint32_t region;
	uint32_t offset;
	/* Only no-ops since a call returned. */
	bool is_after_call;
	/* The callee; CODE_NO_CALLEE if it is not known. */
	uint32_t callee;
	bool sp_was_compared;
	bool sp_was_stored;
	/* Offset at which a new thread starts. */
	uint32_t child;
	/* Offset that the last `lea` took. */
	uint32_t taken;
};

/* Returns the first function of the group, and shortens the way there. */
static uint32_t group_of(struct code_function *functions, uint32_t function)
{
	while (functions[function].group != function) {
		functions[function].group = functions[functions[function].group].group;
		function = functions[function].group;
	}
	return function;
}

const struct code_function *code_flow_extent(const struct code_flow *flow,
					     const struct code_function *function)
{
	struct code_function *functions = flow->functions.items;

	return &functions[group_of(functions, function - functions)];
}

/* Notes that a path of @function goes through [@low, @high). */
static void extend(struct code_flow *flow, uint32_t function, uint32_t low, uint32_t high)
{
	struct code_function *functions = flow->functions.items;
	struct code_function *group = &functions[group_of(functions, function)];

	if (low < group->low)
		group->low = low;
	if (high > group->high)
		group->high = high;
}

/* Notes that paths of two functions meet. */
static void join(struct code_flow *flow, uint32_t a, uint32_t b)
{
	struct code_function *functions = flow->functions.items;
	uint32_t first = group_of(functions, a), second = group_of(functions, b);
	uint32_t group = first < second ? first : second;
	uint32_t other = first < second ? second : first;

	if (group == other)
		return;
	functions[other].group = group;
	extend(flow, group, functions[other].low, functions[other].high);
}

static void queue_block(struct code_flow *flow, uint32_t index, enum edge edge)
{
	struct code_block *block = &flow->blocks[index];

	if (block->is_queued)
		return;
	block->is_queued = true;
	if (code_queue_add(&flow->queue, index, edge == EDGE_RETURN))
		flow->error = -ENOMEM;
}

static uint16_t id_of_rule(struct code_flow *flow, const struct unwind_rule *rule)
{
	uint16_t id;
	int error = code_rules_intern(&flow->rules, rule, &id);

	if (error)
		flow->error = error;
	return id;
}

static void distrust(struct code_flow *flow, uint32_t function)
{
	flow->functions.items[function].is_distrusted = true;
}

static void doubt(struct code_flow *flow, uint32_t function, uint32_t region, uint32_t other_region)
{
	const struct code_doubt doubt = { function, region, other_region };

	if (code_doubt_vector_push(&flow->doubts, doubt))
		flow->error = -ENOMEM;
}

/*
 * Records that a path reaches @block with another stack. If no path leads to the start of one of the two
 * functions, that start is wrong: it is behind an instruction that traps, or is a target of a jump
 * table.
 */
static void doubt_both(struct code_flow *flow, const struct walk *walk,
		       const struct code_block *block)
{
	const struct code_function *functions = flow->functions.items;

	doubt(flow, walk->function, walk->region, block->region);
	if (functions[walk->function].is_known || !functions[block->function].is_known)
		doubt(flow, block->function, walk->region, block->region);
}

/* Records that the last call of @walk does not return. */
static void note_noreturn(struct code_flow *flow, const struct walk *walk)
{
	if (walk->callee < CODE_ANY_CALLEE &&
	    code_regions_set_callee(&flow->regions, walk->callee, false))
		flow->error = -ENOMEM;
}

/* Handles a path that leaves its function, which should find the stack as at the entry. */
static void judge_exit(struct code_flow *flow, const struct walk *walk)
{
	struct code_function *function = &flow->functions.items[walk->function];

	if (walk->state.is_outermost)
		return;
	if (code_hotspot_is_entry(flow->chunk, &walk->state)) {
		function->has_good_exit = true;
		code_regions_prove(&flow->regions, walk->region);
	} else if (!code_hotspot_is_exit(flow->chunk, &walk->state)) {
		doubt(flow, walk->function, walk->region, walk->region);
	}
}

/*
 * Handles a path that leaves the chunk. Within a frame that shows nothing. But if it pops more than was
 * there at the entry, the entry was not that of a function: _dl_runtime_resolve() starts with two words
 * pushed.
 */
static void leave_chunk(struct code_flow *flow, const struct walk *walk)
{
	struct code_state entry;

	code_state_init(&entry, flow->chunk->machine);
	if (code_hotspot_is_entry(flow->chunk, &walk->state))
		code_regions_prove(&flow->regions, walk->region);
	else if (walk->state.sp.kind == CODE_FROM_CFA && walk->state.sp.offset > entry.sp.offset &&
		 !walk->state.is_outermost && !code_hotspot_is_exit(flow->chunk, &walk->state))
		distrust(flow, walk->function);
}

/* Handles a path that reaches the start of a function. */
static void reach_start(struct code_flow *flow, const struct walk *walk, enum edge edge)
{
	if (edge == EDGE_RETURN)
		note_noreturn(flow, walk);
	else
		judge_exit(flow, walk);
}

/* Handles a path that reaches the block at @offset, a leader. */
static void reach_block(struct code_flow *flow, const struct walk *walk, uint32_t offset,
			enum edge edge)
{
	uint32_t index = code_marks_rank(&flow->marks, offset);
	struct code_block *block = &flow->blocks[index];
	const struct code_function *owner;
	int change;

	if (flow->marks.marks[offset] & CODE_MARK_START &&
	    offset != flow->functions.items[walk->function].offset) {
		if (edge != EDGE_FALL || code_hotspot_starts(flow->chunk, &walk->state)) {
			reach_start(flow, walk, edge);
			return;
		}
		flow->marks.marks[offset] &= ~CODE_MARK_START;
	}
	if (block->function == CODE_NO_FUNCTION) {
		block->function = walk->function;
		block->region = walk->region;
		block->offset = offset;
		block->state = walk->state;
		block->is_weak = edge == EDGE_RETURN;
		queue_block(flow, index, edge);
		return;
	}
	join(flow, walk->function, block->function);
	change = code_hotspot_merge(flow->chunk, &block->state, &walk->state);
	if (change < 0 && edge == EDGE_RETURN) {
		note_noreturn(flow, walk);
		return;
	}
	if (change < 0 && block->is_weak) {
		block->state = walk->state;
		block->function = walk->function;
		block->region = walk->region;
		change = 1;
	}
	if (change < 0) {
		doubt_both(flow, walk, block);
		return;
	}
	if (code_regions_connect(&flow->regions, walk->region, block->region))
		flow->error = -ENOMEM;
	owner = &flow->functions.items[block->function];
	if (block->function != walk->function && !owner->is_distrusted &&
	    (owner->has_good_exit ||
	     code_hotspot_proves(flow->chunk, owner->is_known, &block->state)))
		flow->functions.items[walk->function].has_good_exit = true;
	if (edge != EDGE_RETURN)
		block->is_weak = false;
	if (change)
		queue_block(flow, index, EDGE_JUMP);
}

/* Follows a jump or branch of @walk to @distance from its instruction. */
static void jump(struct code_flow *flow, struct walk *walk, int64_t distance)
{
	int64_t target = walk->offset + distance;
	struct walk path = *walk;

	/* A tail call, or a jump to a part of the function that is elsewhere. */
	if (target < 0 || target >= flow->chunk->size) {
		leave_chunk(flow, walk);
		return;
	}
	if (!code_marks_is_leader(&flow->marks, target)) {
		distrust(flow, walk->function);
		return;
	}
	if (target == walk->child)
		path.state.is_outermost = 1;
	reach_block(flow, &path, target, EDGE_JUMP);
}

static void jump_indirectly(struct code_flow *flow, const struct walk *walk)
{
	struct code_function *function = &flow->functions.items[walk->function];

	if (walk->state.is_outermost)
		return;
	/* Most likely a tail call; a jump table would lead to code with the same state. */
	leave_chunk(flow, walk);
	function->has_good_exit |= code_hotspot_is_good_exit(flow->chunk, &walk->state);
	if (code_hotspot_is_entry(flow->chunk, &walk->state) ||
	    code_hotspot_is_exit(flow->chunk, &walk->state))
		return;
	if (!function->has_table_jump) {
		function->has_table_jump = true;
		function->table_state = walk->state;
		function->table_region = walk->region;
		function->table_offset = walk->offset;
		return;
	}
	if (code_state_merge(&function->table_state, &walk->state) < 0)
		function->tables_differ = true;
}

static uint32_t add_region(struct code_flow *flow, uint32_t caller, uint32_t callee,
			   uint32_t offset)
{
	uint32_t region = 0;
	int error = code_regions_add(&flow->regions, caller, callee, offset, &region);

	if (error)
		flow->error = error;
	return region;
}

/* True if a path has come to the leader at @offset. */
static bool is_reached(const struct code_flow *flow, uint32_t offset)
{
	return flow->blocks[code_marks_rank(&flow->marks, offset)].function != CODE_NO_FUNCTION;
}

static bool is_unreached_end(const struct code_flow *flow, uint32_t offset)
{
	return flow->marks.marks[offset] & CODE_MARK_AFTER_END && !is_reached(flow, offset);
}

/* Follows a call of @step: begins the paths of the callee and behind the call. */
static void call(struct code_flow *flow, struct walk *walk, const struct code_step *step)
{
	int64_t target = walk->offset + step->target;
	uint32_t next = walk->offset + step->length;
	bool is_hotspot = flow->chunk->is_hotspot;

	/* glibc's _start for arm64 ends with a call of abort(), just behind that of the function that calls main(). */
	if (walk->state.is_outermost && walk->is_after_call && flow->chunk->machine == EM_AARCH64)
		return;
	walk->callee = CODE_ANY_CALLEE;
	if (step->flow == CODE_FLOW_CALL || step->has_slot) {
		if (!step->has_slot && step->target == step->length) {
			distrust(flow, walk->function);
			return;
		}
		/* The id of a callee elsewhere is the low half of its distance. */
		walk->callee = target;
		if (!is_hotspot && code_regions_is_noreturn(&flow->regions, walk->callee))
			return;
	}
	if (next >= flow->chunk->size)
		return;
	if (!is_hotspot && code_start_follows(flow->chunk, &flow->marks, next)) {
		note_noreturn(flow, walk);
		return;
	}
	code_state_call(&walk->state, flow->chunk->machine);
	if (!is_hotspot && !is_reached(flow, next) &&
	    code_trial_ends_function(flow->chunk, &flow->marks, next, &walk->state)) {
		flow->marks.marks[next] |= CODE_MARK_START;
		note_noreturn(flow, walk);
		return;
	}
	if (!code_marks_is_leader(&flow->marks, next)) {
		distrust(flow, walk->function);
		return;
	}
	if (!is_hotspot && !is_reached(flow, next))
		walk->region = add_region(flow, walk->region, walk->callee, next);
	reach_block(flow, walk, next, is_hotspot ? EDGE_JUMP : EDGE_RETURN);
}

/*
 * Follows a jump that is a call without the stack, as in dav1d: `lea n(%rip),%reg` takes the address of @next, behind the
 * jump, to which the callee comes back by `jmp *%reg`.
 */
static void come_back(struct code_flow *flow, const struct walk *walk, uint32_t next)
{
	struct walk path = *walk;

	if (walk->taken != next || flow->chunk->is_hotspot || next >= flow->chunk->size ||
	    !is_unreached_end(flow, next) || flow->marks.marks[next] & CODE_MARK_START)
		return;
	path.region = add_region(flow, walk->region, CODE_ANY_CALLEE, next);
	reach_block(flow, &path, next, EDGE_JUMP);
}

/* Sets the rule of an instruction of known code. */
static void set_known_rule(struct code_flow *flow, uint32_t offset)
{
	const struct unwind_rule rule = { .cfa = CFA_SIGNAL };

	flow->rule_ids[offset] = id_of_rule(flow, &rule);
	flow->marks.marks[offset] |= CODE_MARK_INSTRUCTION | CODE_MARK_VISITED;
}

/*
 * The trampoline's rule is looked up like that of a return address, by the byte before it: a no-op for this
 * purpose, or a byte within an instruction, at which no pc ever is.
 */
static void set_trampoline(struct code_flow *flow, uint32_t first, uint32_t last)
{
	const uint8_t *bytes = flow->chunk->bytes;

	set_known_rule(flow, first);
	set_known_rule(flow, last);
	if (first && (flow->chunk->machine == EM_AARCH64 || bytes[first - 1] == 0x90))
		set_known_rule(flow, first - 1);
}

/* Handles a system call; false if the path ends here. */
static bool system_call(struct code_flow *flow, struct walk *walk)
{
	size_t entry;

	switch (known_code_syscall(flow->chunk->machine, flow->chunk->bytes, flow->chunk->size,
				   walk->offset, &entry)) {
	case KNOWN_SYSCALL_EXIT:
		return false;
	case KNOWN_SYSCALL_SIGNAL_RETURN:
		set_trampoline(flow, entry, walk->offset);
		return false;
	case KNOWN_SYSCALL_CLONE:
		walk->child = entry;
		return true;
	default:
		return true;
	}
}

/* Follows the control flow of @step. False if the path ends in this block. */
static bool follow(struct code_flow *flow, struct walk *walk, const struct code_step *step)
{
	switch (step->flow) {
	case CODE_FLOW_NOP:
	case CODE_FLOW_NEXT:
		return true;
	case CODE_FLOW_BRANCH:
		jump(flow, walk, step->target);
		if (walk->sp_was_compared && step->is_not_equal)
			code_state_move_sp(&walk->state, walk->state.other);
		return true;
	case CODE_FLOW_SYSCALL:
		return system_call(flow, walk);
	case CODE_FLOW_CALL:
	case CODE_FLOW_CALL_INDIRECT:
		call(flow, walk, step);
		return false;
	case CODE_FLOW_JUMP:
		come_back(flow, walk, walk->offset + step->length);
		jump(flow, walk, step->target);
		return false;
	case CODE_FLOW_JUMP_INDIRECT:
		jump_indirectly(flow, walk);
		return false;
	case CODE_FLOW_RETURN:
		judge_exit(flow, walk);
		return false;
	case CODE_FLOW_STOP:
		return false;
	default:
		distrust(flow, walk->function);
		return false;
	}
}

static void mark_instruction(struct code_flow *flow, uint32_t function, uint32_t offset,
			     uint32_t length, uint16_t rule_id)
{
	uint8_t *marks = flow->marks.marks + offset;

	flow->rule_ids[offset] = rule_id;
	if (flow->owners) {
		if (marks[0] & CODE_MARK_INSTRUCTION)
			join(flow, function, flow->owners[offset]);
		flow->owners[offset] = function;
	}
	marks[0] |= CODE_MARK_INSTRUCTION;
	for (uint32_t i = 0; i < length; i++)
		marks[i] |= CODE_MARK_VISITED;
}

static void note_taken(const struct code_flow *flow, struct walk *walk, uint32_t length)
{
	const struct code_chunk *chunk = flow->chunk;
	uint64_t taken;

	if (code_takes_address(chunk->machine, chunk->bytes + walk->offset, length, walk->offset,
			       &taken) &&
	    taken < chunk->size)
		walk->taken = taken;
}

static void walk_block(struct code_flow *flow, uint32_t index)
{
	struct code_block *block = &flow->blocks[index];
	const struct code_chunk *chunk = flow->chunk;
	struct walk walk = {
		.state = block->state,
		.function = block->function,
		.region = block->region,
		.offset = block->offset,
		.is_after_call = block->is_weak,
		.callee = CODE_NO_CALLEE,
		.child = NO_OFFSET,
		.taken = NO_OFFSET,
	};
	struct code_state last = { 0 };
	uint16_t rule_id = 0;

	block->is_queued = false;
	for (;;) {
		struct code_step step;
		struct unwind_rule rule;

		if (walk.offset == walk.child)
			walk.state.is_outermost = 1;
		if (memcmp(&last, &walk.state, sizeof(last)) != 0) {
			code_state_rule(&walk.state, chunk->machine, &rule);
			rule_id = id_of_rule(flow, &rule);
			last = walk.state;
		}
		chunk->step(chunk->bytes + walk.offset, chunk->size - walk.offset, &walk.state,
			    &step);
		code_hotspot_amend(chunk, walk.offset, &last, &walk.state);
		if (walk.sp_was_stored && walk.state.sp.kind == CODE_UNKNOWN)
			stack_switch_follow(chunk->bytes + walk.offset + step.length,
					    chunk->size - walk.offset - step.length, &walk.state);
		if (step.flow == CODE_FLOW_BAD ||
		    code_hotspot_is_data(chunk, &flow->marks, walk.offset, step.length)) {
			distrust(flow, walk.function);
			return;
		}
		mark_instruction(flow, walk.function, walk.offset, step.length, rule_id);
		extend(flow, walk.function, walk.offset, walk.offset + step.length);
		note_taken(flow, &walk, step.length);
		if (!follow(flow, &walk, &step) || flow->error)
			return;
		walk.sp_was_compared = step.compares_sp;
		walk.sp_was_stored = step.stores_sp;
		walk.is_after_call &= step.flow == CODE_FLOW_NOP;
		walk.offset += step.length;
		if (walk.offset >= chunk->size) {
			distrust(flow, walk.function);
			return;
		}
		if (code_marks_is_leader(&flow->marks, walk.offset)) {
			reach_block(flow, &walk, walk.offset,
				    walk.is_after_call ? EDGE_RETURN : EDGE_FALL);
			return;
		}
	}
}

static void walk_queued(struct code_flow *flow)
{
	uint32_t block;

	while (!flow->error && code_queue_take(&flow->queue, &block))
		walk_block(flow, block);
}

/*
 * Follows the code behind ends, from @offset up to the next start, that no path has reached. Returns where it ends.
 */
static uint32_t follow_ends(struct code_flow *flow, uint32_t index, uint32_t offset)
{
	struct code_function function = flow->functions.items[index];
	struct walk walk = {
		.state = function.table_state,
		.function = index,
		.callee = CODE_NO_CALLEE,
		.child = NO_OFFSET,
		.taken = NO_OFFSET,
	};
	uint32_t end = offset + TABLE_SEARCH_BYTES;

	for (offset = code_marks_next_leader(&flow->marks, offset);
	     offset < flow->chunk->size && offset < end;
	     offset = code_marks_next_leader(&flow->marks, offset + 1)) {
		if (flow->marks.marks[offset] & CODE_MARK_START)
			return offset;
		if (!is_unreached_end(flow, offset))
			continue;
		if (code_trial_is_start(flow->chunk, &flow->marks, offset, &walk.state))
			return offset;
		/* Or it is a function without a frame, which then has no bad exit from ours. */
		walk.region = add_region(flow, function.table_region, CODE_NO_CALLEE, offset);
		reach_block(flow, &walk, offset, EDGE_JUMP);
		walk_queued(flow);
	}
	return offset;
}

/* Follows the blocks to which jump tables of the function may lead. */
static void follow_tables(struct code_flow *flow, uint32_t index)
{
	struct code_function function = flow->functions.items[index];

	if (!function.has_table_jump || function.tables_differ || function.is_distrusted)
		return;
	/* In assembly, several functions jump to one body, and stand before it. */
	if (follow_ends(flow, index, function.offset + 1) < function.table_offset)
		follow_ends(flow, index, function.table_offset + 1);
}

static void walk_function(struct code_flow *flow, uint32_t offset, bool is_known, bool is_entry)
{
	uint32_t index = code_marks_rank(&flow->marks, offset);
	struct code_block *block = &flow->blocks[index];
	struct code_function function = {
		.offset = offset,
		.group = flow->functions.count,
		.low = offset,
		.high = offset,
		.is_known = is_known,
	};

	if (flow->error || block->function != CODE_NO_FUNCTION)
		return;
	if (code_function_vector_push(&flow->functions, function)) {
		flow->error = -ENOMEM;
		return;
	}
	block->offset = offset;
	block->function = flow->functions.count - 1;
	block->region = add_region(flow, CODE_NO_CALLER, CODE_NO_CALLEE, offset);
	if (flow->error)
		return;
	code_state_init(&block->state, flow->chunk->machine);
	code_hotspot_enter(flow->chunk, offset, &block->state);
	block->state.is_outermost = is_entry;
	queue_block(flow, index, EDGE_JUMP);
	walk_queued(flow);
	follow_tables(flow, flow->functions.count - 1);
}

static void walk_all(struct code_flow *flow, uint64_t entry)
{
	const struct code_marks *marks = &flow->marks;
	uint32_t size = flow->chunk->size, offset;

	for (offset = code_marks_next_leader(marks, 0); offset < size;
	     offset = code_marks_next_leader(marks, offset + 1))
		if (marks->marks[offset] & CODE_MARK_START)
			walk_function(flow, offset, true, flow->chunk->address + offset == entry);
	/* Functions that are called only by pointer, such as a main() that does not return. */
	for (offset = code_marks_next_leader(marks, 0); offset < size;
	     offset = code_marks_next_leader(marks, offset + 1))
		if (marks->marks[offset] & (CODE_MARK_TAKEN | CODE_MARK_START) &&
		    (marks->marks[offset] & CODE_MARK_START || is_unreached_end(flow, offset)))
			walk_function(flow, offset, true, false);
	for (offset = code_marks_next_leader(marks, 0); offset < size;
	     offset = code_marks_next_leader(marks, offset + 1))
		if (is_unreached_end(flow, offset))
			walk_function(flow, offset, false, false);
}

/*
 * Evidence behind calls that do not return is no evidence against a function that has a good exit
 * elsewhere, unless that may be one of other code.
 */
static void settle_doubts(struct code_flow *flow)
{
	for (size_t i = 0; i < flow->doubts.count; i++) {
		const struct code_doubt *doubt = &flow->doubts.items[i];

		if (flow->chunk->needs_exits ||
		    !flow->functions.items[doubt->function].has_good_exit ||
		    (code_regions_is_trusted(&flow->regions, doubt->region) &&
		     code_regions_is_trusted(&flow->regions, doubt->other_region)))
			distrust(flow, doubt->function);
	}
}

/*
 * Finds the calls that return since nothing else leads to the code behind them. True if there are some.
 * They are few, so that only they cost trials.
 */
static bool find_sure_returns(struct code_flow *flow)
{
	bool has_found = false;

	for (size_t i = 0; i < flow->regions.regions.count; i++) {
		struct code_region *region = &flow->regions.regions.items[i];
		const struct code_block *block;

		if (region->is_trusted || region->callee == CODE_NO_CALLEE)
			continue;
		block = &flow->blocks[code_marks_rank(&flow->marks, region->offset)];
		region->is_sure = block->region == i &&
				  code_trial_returns(flow->chunk, &flow->marks, region->offset,
						     &block->state);
		has_found |= region->is_sure;
	}
	return has_found;
}

/* Decides from which callees calls return, by the results of all paths. */
static int prove_regions(struct code_flow *flow)
{
	int error = 0;

	for (size_t i = 0; !error && i < flow->functions.count; i++) {
		const struct code_function *function = &flow->functions.items[i];

		if (function->has_good_exit && !function->is_distrusted)
			error = code_regions_set_callee(&flow->regions, function->offset, true);
	}
	if (!error)
		error = code_regions_resolve(&flow->regions);
	if (!error && find_sure_returns(flow))
		error = code_regions_resolve(&flow->regions);
	if (!error)
		settle_doubts(flow);
	return error;
}

int code_flow_init(struct code_flow *flow, const struct code_chunk *chunk,
		   const struct code_hints *hints)
{
	int error;

	memset(flow, 0, sizeof(*flow));
	flow->chunk = chunk;
	error = code_marks_init(&flow->marks, chunk, hints);
	if (error)
		return error;
	if (flow->marks.leader_count > MAX_DENSE_LEADERS &&
	    flow->marks.leader_count > chunk->size / MIN_BLOCK_BYTES)
		code_marks_clear_leaders(&flow->marks, chunk);
	flow->blocks = calloc(flow->marks.leader_count + 1, sizeof(*flow->blocks));
	flow->rule_ids = calloc(chunk->size, sizeof(*flow->rule_ids));
	if (chunk->needs_exits)
		flow->owners = calloc(chunk->size, sizeof(*flow->owners));
	if (!flow->blocks || !flow->rule_ids || (chunk->needs_exits && !flow->owners) ||
	    code_rules_init(&flow->rules))
		return fail(-ENOMEM, "no memory to analyse %u bytes of code", chunk->size);
	for (uint32_t i = 0; i < flow->marks.leader_count; i++)
		flow->blocks[i] = (struct code_block){ .function = CODE_NO_FUNCTION };
	walk_all(flow, hints->entry);
	if (!flow->error)
		flow->error = prove_regions(flow);
	if (flow->error)
		return fail(flow->error, "no memory to analyse %u bytes of code", chunk->size);
	return 0;
}

void code_flow_deinit(struct code_flow *flow)
{
	free(flow->blocks);
	free(flow->rule_ids);
	free(flow->owners);
	code_marks_deinit(&flow->marks);
	code_rules_deinit(&flow->rules);
	code_function_vector_deinit(&flow->functions);
	code_doubt_vector_deinit(&flow->doubts);
	code_queue_deinit(&flow->queue);
	code_regions_deinit(&flow->regions);
	memset(flow, 0, sizeof(*flow));
}
