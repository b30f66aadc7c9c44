/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/php/php_jit.h"

#include <errno.h>
#include <string.h>

#include "interpreters/php/php_opcodes.h"
#include "lib/base/error.h"
#include "lib/isa/x86_decode.h"

enum {
	/* Code that is read in front of an address and behind it. */
	BYTES_BEFORE = 4096,
	/* The same where it is not known where the code begins: first, and if that is not all code half of it, down to this. */
	BYTES_BEFORE_FUNCTION = 768,
	BYTES_BEFORE_LEAST = 16,
	BYTES_AFTER = 512,
	/* Code that is read where a branch goes to. */
	BRANCH_BYTES = 64,
	/* Jumps that are followed behind the address. */
	JUMPS_MAX = 2,
	/* Ways that are followed from branches behind the address, besides the one without them. */
	WAYS_MAX = 4,
	/* Events that are remembered of the code in front of an address. */
	EVENTS_MAX = 256,
};

enum event_kind {
	/* The address of an instruction is loaded. */
	EVENT_OPLINE,
	/* A branch or a jump goes to the value. */
	EVENT_BRANCH,
	EVENT_JUMP,
	EVENT_CALL,
	/* The code behind a check for overflow has stored the result. */
	EVENT_RESULT,
	/* Control does not go on, and not to a known address. */
	EVENT_END,
};

/* An instruction of the code that matters. */
struct event {
	enum event_kind kind;
	uint64_t value;
	/* Address of the next instruction. */
	uint64_t next;
};

/* Code, and the position in it. */
struct scan {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
	size_t position;
	/* The value of the register that has the instruction in VM code; 0: unknown. */
	uint64_t register_value;
	/* The last branch was taken on overflow, and only moves of the result have followed. */
	bool is_result;
};

/* A point in the code, by the instructions that are executed there. */
struct point {
	bool is_known;
	/* The instruction is in another function: the trace calls or returns. */
	bool is_foreign;
	/* The code stores this instruction. */
	bool is_stored;
	/* An exit of the trace, at which the interpreter continues with the instruction. */
	bool is_exit;
	/* The result of the instruction has been stored. */
	bool is_done;
	int32_t index;
};

/* The question. */
struct question {
	struct php_jit *jit;
	struct remote_memory *memory;
	struct php_opcodes opcodes;
	/* Its code is empty if the code is not that of a trace. */
	struct php_trace trace;
	uint64_t address;
	bool is_return;
};

void php_jit_init(struct php_jit *jit, const struct php_layout *layout)
{
	jit->layout = layout;
	php_traces_init(&jit->traces, layout);
}

/* An instruction that computes a constant, or adds to the register of instructions. True if it makes an event. */
static bool read_constant(struct scan *scan, const uint8_t *bytes, size_t length, uint64_t *value)
{
	struct x86_operands operands;
	uint64_t next = scan->address + scan->position + length;
	uint8_t destination;

	if (!x86_decode_operands(bytes, length, &operands) || operands.bytes != 8)
		return false;
	if (operands.map == 0 && (operands.opcode & 0xf8) == 0xb8 && length == 10) {
		memcpy(value, bytes + 2, sizeof(*value));
		destination = operands.low;
	} else if (operands.map == 0 && operands.opcode == 0x8d && operands.is_pc_relative) {
		*value = next + (uint64_t)operands.displacement;
		destination = operands.reg;
	} else if (operands.map == 0 && (operands.opcode == 0x81 || operands.opcode == 0x83) &&
		   !operands.is_memory && operands.rm == X86_R15 &&
		   (operands.reg % 8 == 0 || operands.reg % 8 == 5) && scan->register_value) {
		*value = scan->register_value +
			 (uint64_t)(operands.reg % 8 ? -operands.immediate : operands.immediate);
		destination = X86_R15;
	} else {
		return false;
	}
	if (destination == X86_R15)
		scan->register_value = *value;
	return true;
}

/* An instruction that can store or move the result of a computation. */
static bool is_move(const struct x86_instruction *x86, const uint8_t *bytes)
{
	size_t opcode = (bytes[0] & 0xf0) == 0x40;

	return x86->kind == X86_STORE || x86->kind == X86_MOVE || bytes[opcode] == 0x89 ||
	       bytes[opcode] == 0xc7;
}

/* Reads up to the next event. False: there is none, or the code is unknown. */
static bool next_event(struct scan *scan, struct event *event)
{
	struct x86_instruction x86;

	while (scan->position < scan->size) {
		const uint8_t *bytes = scan->bytes + scan->position;
		uint64_t next;

		if (!x86_decode(bytes, scan->size - scan->position, &x86))
			return false;
		next = scan->address + scan->position + x86.length;
		*event = (struct event){ EVENT_END, next + (uint64_t)x86.displacement, next };
		if (scan->is_result && !is_move(&x86, bytes)) {
			scan->is_result = false;
			*event = (struct event){ .kind = EVENT_RESULT };
			return true;
		}
		switch (x86.kind) {
		case X86_BRANCH:
			event->kind = EVENT_BRANCH;
			/* jo */
			scan->is_result = bytes[0] == 0x70 ||
					  (bytes[0] == 0x0f && bytes[1] == 0x80);
			break;
		case X86_JUMP:
			event->kind = EVENT_JUMP;
			scan->register_value = 0;
			break;
		case X86_CALL:
		case X86_CALL_INDIRECT:
			event->kind = EVENT_CALL;
			/* Handlers of the interpreter move the register on, and others do not. */
			scan->register_value = 0;
			break;
		case X86_JUMP_INDIRECT:
		case X86_RETURN:
		case X86_STOP:
			scan->register_value = 0;
			break;
		default:
			if (!read_constant(scan, bytes, x86.length, &event->value)) {
				if (x86.writes >> X86_R15 & 1)
					scan->register_value = 0;
				scan->position += x86.length;
				continue;
			}
			event->kind = EVENT_OPLINE;
		}
		scan->position += x86.length;
		return true;
	}
	return false;
}

/* The instruction at @opline as a point. */
static struct point point_of(const struct question *question, uint64_t opline, bool is_exit)
{
	struct point point = { .is_known = true,
			       .is_exit = is_exit,
			       .is_stored = !is_exit,
			       .index = php_opcodes_index(&question->opcodes, opline) };

	point.is_foreign = point.index == PHP_OPCODE_NONE;
	return point;
}

static bool is_in_trace(const struct php_trace *trace, uint64_t address)
{
	return address - trace->code < trace->code_end - trace->code;
}

/* The number of the first exit in the code of @trace from @address on; UINT32_MAX: there is none near. */
static uint32_t next_exit(const struct question *question, const struct php_trace *trace,
			  uint64_t address)
{
	uint8_t bytes[BYTES_AFTER];
	struct scan scan = { .bytes = bytes, .size = sizeof(bytes), .address = address };
	struct event event;
	uint32_t number;

	if (remote_memory_read(question->memory, address, bytes, sizeof(bytes)))
		return UINT32_MAX;
	while (next_event(&scan, &event) && is_in_trace(trace, event.next - 1))
		if ((event.kind == EVENT_BRANCH || event.kind == EVENT_JUMP) &&
		    !php_traces_exit_at(&question->jit->traces, question->memory, event.value,
					&number))
			return number;
	return UINT32_MAX;
}

/* Where a branch goes to: an exit, a trace that has replaced one, or code that soon has an instruction. */
static struct point branch_point(const struct question *question, const struct php_trace *trace,
				 const struct event *event)
{
	struct php_traces *traces = &question->jit->traces;
	uint8_t bytes[BRANCH_BYTES];
	struct scan scan = { .bytes = bytes, .size = sizeof(bytes), .address = event->value };
	struct php_trace side;
	struct event first;
	uint64_t opline;
	uint32_t number;

	if (!php_traces_exit_at(traces, question->memory, event->value, &number)) {
		if (!php_traces_exit(traces, question->memory, trace, number, &opline))
			return point_of(question, opline, true);
		return (struct point){ 0 };
	}
	if (trace->code_end && !is_in_trace(trace, event->value)) {
		if (!php_traces_find(traces, question->memory, event->value, &side) &&
		    side.code == event->value && !side.first &&
		    !php_traces_replaced_exit(traces, question->memory, trace,
					      next_exit(question, trace, event->next), &opline))
			return point_of(question, opline, true);
		return (struct point){ 0 };
	}
	if (!remote_memory_read(question->memory, event->value, bytes, sizeof(bytes)) &&
	    next_event(&scan, &first) && first.kind == EVENT_OPLINE &&
	    php_opcodes_index(&question->opcodes, first.value) != PHP_OPCODE_NONE)
		return point_of(question, first.value, false);
	return (struct point){ 0 };
}

static struct point event_point(const struct question *question, const struct php_trace *trace,
				const struct event *event)
{
	if (event->kind == EVENT_BRANCH || event->kind == EVENT_JUMP)
		return branch_point(question, trace, event);
	if (event->kind == EVENT_OPLINE &&
	    php_opcodes_index(&question->opcodes, event->value) != PHP_OPCODE_NONE)
		return point_of(question, event->value, false);
	return (struct point){ 0 };
}

/* Code behind an address, and what was found in it. */
struct way {
	struct php_trace trace;
	struct scan scan;
	uint8_t bytes[BYTES_AFTER];
	/* Targets of branches that are no points, up to the first point. */
	uint64_t branches[WAYS_MAX];
	uint32_t branch_count;
};

static bool way_begin(struct way *way, const struct question *question,
		      const struct php_trace *trace, uint64_t address)
{
	way->trace = *trace;
	way->branch_count = 0;
	way->scan = (struct scan){ .bytes = way->bytes,
				   .size = sizeof(way->bytes),
				   .address = address };
	return !remote_memory_read(question->memory, address, way->bytes, sizeof(way->bytes));
}

/* Continues at the target of a jump, which may be in another trace. */
static bool way_jump(struct way *way, const struct question *question, uint64_t target)
{
	uint32_t branch_count = way->branch_count;
	bool has_begun;

	if (way->trace.code_end && !is_in_trace(&way->trace, target) &&
	    php_traces_find(&question->jit->traces, question->memory, target, &way->trace))
		return false;
	has_begun = way_begin(way, question, &way->trace, target);
	way->branch_count = branch_count;
	return has_begun;
}

/* The next known point of the way. */
static struct point way_next(struct way *way, const struct question *question)
{
	struct point point = { 0 };
	struct event event;
	int jumps = 0;

	while (next_event(&way->scan, &event)) {
		point = event_point(question, &way->trace, &event);
		if (point.is_known || event.kind == EVENT_END)
			break;
		if (event.kind == EVENT_BRANCH && way->branch_count < WAYS_MAX)
			way->branches[way->branch_count++] = event.value;
		if (event.kind == EVENT_JUMP &&
		    (jumps++ == JUMPS_MAX || !way_jump(way, question, event.value)))
			break;
	}
	return point;
}

/*
 * Reads the code in front of the address up to it. Without a trace it is not known where an instruction begins; but
 * decoders agree after a few instructions, wherever they began. Returns the number of events, or -ENOENT.
 */
static int events_in_front(const struct question *question, uint64_t start, struct event *events)
{
	uint8_t bytes[BYTES_BEFORE];
	size_t size = question->address - start;
	int count;

	if (!size && start == question->trace.code)
		return 0;
	if (!size || size > sizeof(bytes) ||
	    remote_memory_read(question->memory, start, bytes, size))
		return -ENOENT;
	for (size_t skipped = 0; skipped < X86_MAX_INSTRUCTION_BYTES && skipped < size; skipped++) {
		struct scan scan = {
			.bytes = bytes, .size = size, .address = start, .position = skipped
		};

		/* The interpreter enters a trace with its first instruction in the register. */
		if (question->trace.code == start)
			scan.register_value = question->trace.first;
		count = 0;
		while (next_event(&scan, &events[count % EVENTS_MAX]))
			count++;
		if (scan.position == size)
			return count;
		if (question->trace.code == start)
			break;
	}
	return -ENOENT;
}

/* The nearest known point in front of the address. *@calls: calls between that and the address. */
static struct point point_in_front(const struct question *question, int *calls)
{
	const struct php_trace *trace = &question->trace;
	struct event events[EVENTS_MAX];
	uint64_t size = trace->code_end ? BYTES_BEFORE : BYTES_BEFORE_FUNCTION;
	bool is_whole = false, is_done = false;
	int count = -ENOENT, first;

	if (trace->code_end && question->address - trace->code < size) {
		size = question->address - trace->code;
		is_whole = true;
		count = events_in_front(question, trace->code, events);
	}
	for (; !is_whole && count < 0 && size >= BYTES_BEFORE_LEAST; size /= 2)
		count = events_in_front(question, question->address - size, events);
	first = count > EVENTS_MAX ? count - EVENTS_MAX : 0;
	*calls = 0;
	for (int i = count - 1; i >= first; i--) {
		const struct event *event = &events[i % EVENTS_MAX];
		struct point point;

		if (event->kind == EVENT_END || event->kind == EVENT_JUMP)
			return (struct point){ 0 };
		*calls += event->kind == EVENT_CALL;
		is_done |= event->kind == EVENT_RESULT;
		point = event_point(question, trace, event);
		point.is_done = is_done && point.is_exit;
		if (point.is_known)
			return point;
		is_done &= event->kind != EVENT_BRANCH;
	}
	if (count >= 0 && is_whole && question->trace.first)
		return point_of(question, question->trace.first, false);
	return (struct point){ 0 };
}

/*
 * An exit's instruction is the one that is executed there, or the one at which a conditional jump continues that the trace
 * has not taken. Then the code in front of it is that of the jump, and behind it that of the instruction where the trace
 * continues. The point behind it decides. False: that is not known.
 */
static bool tell_branches(const struct php_opcodes *opcodes, const struct point *exit,
			  const struct point *behind, int32_t *before, int32_t *after)
{
	int32_t other = PHP_OPCODE_NONE, jump = PHP_OPCODE_NONE;

	*before = exit->index;
	*after = exit->index;
	if (exit->is_exit)
		jump = php_opcodes_branch_to(opcodes, exit->index, &other);
	if (jump == PHP_OPCODE_NONE || other >= opcodes->count)
		return true;
	if (!behind->is_known || behind->is_foreign)
		return false;
	if (behind->index >= exit->index &&
	    (behind->index < other || behind->index - exit->index < behind->index - other))
		return true;
	*before = jump;
	*after = other;
	return true;
}

/*
 * The points behind the address, at most 1 + WAYS_MAX, the one without a branch first: the instruction of each. Returns their
 * number; 0: that one is not known, or in another function, which *@is_foreign says. *@is_repeated: it is an exit, behind which
 * the interpreter executes the instruction from its beginning.
 */
static uint32_t points_behind(const struct question *question, int32_t *lasts, bool *is_foreign,
			      bool *is_repeated)
{
	struct point behind, second = { 0 };
	struct way way, other;
	uint32_t count = 0;
	int32_t unused;

	*is_foreign = false;
	*is_repeated = false;
	if (!way_begin(&way, question, &question->trace, question->address))
		return 0;
	behind = way_next(&way, question);
	*is_foreign = behind.is_foreign;
	if (!behind.is_known || behind.is_foreign)
		return 0;
	for (uint32_t i = 0; i < way.branch_count; i++) {
		struct point point = { 0 };

		if (way_begin(&other, question, &way.trace, way.branches[i]))
			point = way_next(&other, question);
		if (point.is_known && !point.is_foreign && !point.is_exit)
			lasts[++count] = point.index;
	}
	if (behind.is_exit)
		second = way_next(&way, question);
	(void)tell_branches(&question->opcodes, &behind, &second, &lasts[0], &unused);
	*is_repeated = behind.is_exit && lasts[0] == behind.index;
	return count + 1;
}

/* The line of the question. False: the code does not tell it. */
static bool find_line(const struct question *question, struct php_line *line)
{
	const struct php_opcodes *opcodes = &question->opcodes;
	int32_t lasts[1 + WAYS_MAX], first, next, unused;
	struct point front, behind = { 0 };
	uint32_t count;
	bool is_told, is_repeated;
	int calls;

	front = point_in_front(question, &calls);
	/* The code stores an instruction before its call. */
	if (front.is_stored && !front.is_foreign && question->is_return && calls == 1) {
		*line = (struct php_line){ php_opcodes_line(opcodes, front.index), true };
		return true;
	}
	count = points_behind(question, lasts, &behind.is_foreign, &is_repeated);
	if (!front.is_known || front.is_foreign) {
		if (count)
			*line = php_opcodes_before(opcodes, lasts[0], front.is_foreign);
		return count;
	}
	behind.is_known = count;
	behind.index = count ? lasts[0] : PHP_OPCODE_NONE;
	is_told = tell_branches(opcodes, &front, &behind, &unused, &first);
	if (front.is_done && count && first == front.index && first != lasts[0]) {
		next = php_opcodes_next(opcodes, first, lasts[0]);
		first = next == PHP_OPCODE_NONE ? first : next;
	}
	/* An instruction that has called something is not repeated, so the call is made by one in front of that one. */
	*line = count ? php_opcodes_between(opcodes, first, lasts, count,
					    is_repeated && question->is_return) :
			php_opcodes_after(opcodes, first);
	line->is_only &= is_told;
	return true;
}

/* Reads the instructions of the function of @words, or for code of a file of the trace's function. */
static int read_opcodes(struct question *question, const uint64_t *words)
{
	uint16_t last = question->jit->layout->last;
	uint64_t function = frame_address(words[0]), code[2], file;
	int err;

	if ((uint32_t)(words[1] >> 32) & PHP_IS_FILE) {
		function = question->trace.function;
		err = function ? remote_memory_read(question->memory,
						    function + question->jit->layout->file, &file,
						    sizeof(file)) :
				 -ENOENT;
		if (!err && file != frame_address(words[0]))
			err = -ENOENT;
		if (err)
			return err;
	}
	err = remote_memory_read(question->memory, function + (last & ~7U), code, sizeof(code));
	if (err)
		return err;
	return php_opcodes_read(&question->opcodes, question->memory, code[1],
				(uint32_t)(code[0] >> (last % 8 ? 32 : 0)));
}

/* Finds the trace of the address. The first time a branch of the code near it may show where the table of traces is. */
static int find_trace(struct question *question)
{
	struct php_traces *traces = &question->jit->traces;
	uint64_t address = question->address - question->is_return;
	uint8_t bytes[BYTES_AFTER];
	struct scan scan = { .bytes = bytes, .size = sizeof(bytes), .address = question->address };
	struct event event;
	uint32_t number;
	int err = 0;

	if (!traces->table && traces->searches < PHP_TRACES_MAX_SEARCHES) {
		err = remote_memory_read(question->memory, question->address, bytes, sizeof(bytes));
		while (!err && !traces->table && next_event(&scan, &event))
			if (event.kind == EVENT_BRANCH || event.kind == EVENT_JUMP)
				(void)php_traces_exit_at(traces, question->memory, event.value,
							 &number);
	}
	if (!err)
		err = php_traces_find(traces, question->memory, address, &question->trace);
	return err == -ENOENT ? 0 : err;
}

void php_jit_improve(struct php_jit *jit, struct remote_memory *memory, const uint64_t *words,
		     struct interpreted_frame *frame)
{
	struct question question = { .jit = jit,
				     .memory = memory,
				     .address = frame_address(words[2]),
				     .is_return = frame_flags(words[2]) & FRAME_RETURN_ADDRESS };
	struct php_line line;

	if (question.address < BYTES_BEFORE || find_trace(&question) ||
	    read_opcodes(&question, words))
		return;
	if (find_line(&question, &line) && line.line) {
		frame->line = line.line;
		frame->is_approximate = !line.is_only;
	}
	php_opcodes_deinit(&question.opcodes);
}
