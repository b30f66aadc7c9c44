/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code is decoded from its beginning on, instruction by instruction, which the compilers' output
 * allows: there is no data between. What cannot be decoded is stepped over by a byte.
 */
#include "interpreters/python/python_loop.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/error.h"
#include "agent/host/x86_decode.h"

enum {
	/** .eh_frame_hdr with a table of pairs of 4 bytes from the section's beginning on. */
	HEADER_VERSION = 1,
	TABLE_ENCODING = 0x3b,
	COUNT_ENCODING = 0x03,
	POINTER_ENCODING = 0x1b,
	HEADER_BYTES = 12,
	/** Instructions between what belongs together at the loop's end. */
	END_MAX_INSTRUCTIONS = 48,
	BEGIN_MAX_INSTRUCTIONS = 256,
	RETURN_MAX_INSTRUCTIONS = 16,
};

/** Code of one range, decoded one by one. */
struct code_cursor {
	struct elf_bytes code;
	uint16_t machine;
	uint64_t start;
	size_t offset;
	/** The last instruction. */
	uint64_t address;
	uint32_t length;
	struct x86_instruction x86;
};

static int cursor_init(struct code_cursor *cursor, const struct elf_image *image,
		       struct code_range range)
{
	uint64_t size = range.end - range.start;
	uint8_t *data;
	int err;

	if (range.end <= range.start || size > PYTHON_LOOP_MAX_BYTES)
		return fail(-EBADMSG, "a loop of %" PRIu64 " bytes", size);
	data = malloc(size);
	if (!data)
		return -ENOMEM;
	err = elf_image_read_address(image, range.start, data, size);
	if (err) {
		free(data);
		return err;
	}
	*cursor = (struct code_cursor){ .code = { .data = data, .size = size },
					.machine = image->machine,
					.start = range.start };
	return 0;
}

static void cursor_deinit(struct code_cursor *cursor)
{
	elf_bytes_deinit(&cursor->code);
}

static bool cursor_next(struct code_cursor *cursor)
{
	cursor->offset += cursor->length;
	if (cursor->offset >= cursor->code.size)
		return false;
	cursor->address = cursor->start + cursor->offset;
	cursor->length = 4;
	if (cursor->machine == EM_X86_64) {
		if (!x86_decode(cursor->code.data + cursor->offset,
				cursor->code.size - cursor->offset, &cursor->x86))
			cursor->x86 = (struct x86_instruction){ .length = 1, .kind = X86_STOP };
		cursor->length = cursor->x86.length;
	} else if (cursor->code.size - cursor->offset < 4) {
		return false;
	}
	return true;
}

static int64_t arm64_offset(uint32_t word, unsigned int low, unsigned int bits)
{
	return (int64_t)((uint64_t)word << (64 - low - bits)) >> (64 - bits) << 2;
}

/* Where the instruction jumps to, with or without a condition, if that stands in it. */
static bool cursor_target(const struct code_cursor *cursor, uint64_t *target)
{
	uint32_t word;

	if (cursor->machine == EM_X86_64) {
		if (cursor->x86.kind != X86_JUMP && cursor->x86.kind != X86_BRANCH)
			return false;
		*target = cursor->address + cursor->length + (uint64_t)cursor->x86.displacement;
		return true;
	}
	memcpy(&word, cursor->code.data + cursor->offset, sizeof(word));
	/* Arm ARM C4.1: b; b.cond; cbz, cbnz; tbz, tbnz. */
	if ((word & 0xfc000000) == 0x14000000)
		*target = cursor->address + (uint64_t)arm64_offset(word, 0, 26);
	else if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
		*target = cursor->address + (uint64_t)arm64_offset(word, 5, 19);
	else if ((word & 0x7e000000) == 0x36000000)
		*target = cursor->address + (uint64_t)arm64_offset(word, 5, 14);
	else
		return false;
	return true;
}

/** The table of .eh_frame_hdr. */
struct function_table {
	const struct elf_image *image;
	uint64_t header;
	uint32_t count;
};

static int function_table_init(struct function_table *table, const struct elf_image *image)
{
	const struct elf_segment *segment = elf_image_find_segment(image, PT_GNU_EH_FRAME);
	uint8_t header[HEADER_BYTES];
	uint32_t count;
	int err;

	if (!segment)
		return -ENOENT;
	err = elf_image_read_address(image, segment->address, header, sizeof(header));
	if (err)
		return err;
	if (header[0] != HEADER_VERSION || header[1] != POINTER_ENCODING ||
	    header[2] != COUNT_ENCODING || header[3] != TABLE_ENCODING)
		return -ENOENT;
	memcpy(&count, header + 8, sizeof(count));
	*table = (struct function_table){ .image = image,
					  .header = segment->address,
					  .count = count };
	return 0;
}

/* Entry @index: where a function begins, and its FDE. */
static int function_table_entry(const struct function_table *table, uint32_t index, uint64_t *start,
				uint64_t *fde)
{
	int32_t entry[2];
	int err = elf_image_read_address(table->image,
					 table->header + HEADER_BYTES + index * sizeof(entry),
					 entry, sizeof(entry));

	if (err)
		return err;
	*start = table->header + (uint64_t)(int64_t)entry[0];
	*fde = table->header + (uint64_t)(int64_t)entry[1];
	return 0;
}

/* The range of the FDE that @address lies in. */
static int function_table_find(const struct function_table *table, uint64_t address,
			       struct code_range *range)
{
	uint32_t low = 0, high = table->count;
	uint64_t start, fde;
	/* Length, CIE, beginning and size, as pc-relative pointers of 4 bytes. */
	int32_t words[4];
	int err;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		err = function_table_entry(table, middle, &start, &fde);
		if (err)
			return err;
		if (start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	err = function_table_entry(table, low - 1, &start, &fde);
	if (!err)
		err = elf_image_read_address(table->image, fde, words, sizeof(words));
	if (err)
		return err;
	if (fde + 8 + (uint64_t)(int64_t)words[2] != start || words[3] <= 0 ||
	    address - start >= (uint32_t)words[3])
		return -ENOENT;
	*range = (struct code_range){ .start = start, .end = start + (uint32_t)words[3] };
	return 0;
}

static bool range_has(struct code_range range, uint64_t address)
{
	return address >= range.start && address < range.end;
}

/* Whether code in @part jumps into the midst of @function. */
static int jumps_back(const struct elf_image *image, struct code_range part,
		      struct code_range function, bool *result)
{
	__attribute__((cleanup(cursor_deinit))) struct code_cursor cursor = { 0 };
	uint64_t target;
	int err = cursor_init(&cursor, image, part);

	if (err)
		return err;
	*result = false;
	while (!*result && cursor_next(&cursor))
		*result = cursor_target(&cursor, &target) && target != function.start &&
			  range_has(function, target);
	return 0;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct code_range *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/** Functions that the loop jumps to. */
struct candidates {
	struct code_range ranges[PYTHON_LOOP_MAX_CANDIDATES];
	uint32_t count;
};

static void add_candidate(const struct function_table *table, uint64_t target,
			  struct candidates *candidates)
{
	struct code_range *ranges = candidates->ranges;

	for (uint32_t i = 0; i < candidates->count; i++) {
		if (range_has(ranges[i], target))
			return;
	}
	if (candidates->count < PYTHON_LOOP_MAX_CANDIDATES &&
	    !function_table_find(table, target, &ranges[candidates->count]))
		candidates->count++;
}

static int find_candidates(const struct elf_image *image, const struct function_table *table,
			   struct code_range function, struct candidates *candidates)
{
	__attribute__((cleanup(cursor_deinit))) struct code_cursor cursor = { 0 };
	int err = cursor_init(&cursor, image, function);
	uint64_t target;

	while (!err && cursor_next(&cursor)) {
		if (cursor_target(&cursor, &target) && !range_has(function, target))
			add_candidate(table, target, candidates);
	}
	return err;
}

int python_loop_find_ranges(const struct elf_image *image, uint64_t start, uint64_t end,
			    struct code_range ranges[INTERPRETER_MAX_RANGES], uint32_t *count)
{
	struct code_range function = { .start = start, .end = end };
	struct candidates candidates = { .count = 0 };
	struct function_table table;
	uint32_t found = 1;
	int err;

	/* A symbol without a size: what its FDE says. */
	err = function_table_init(&table, image);
	if (!err && start == end)
		err = function_table_find(&table, start, &function);
	if (!err)
		err = find_candidates(image, &table, function, &candidates);
	if (err == -ENOENT && start != end)
		err = 0;
	if (err)
		return err == -ENOENT ? fail(-EBADMSG, "the loop has no size") : err;
	ranges[0] = function;
	for (uint32_t i = 0; i < candidates.count && found < INTERPRETER_MAX_RANGES; i++) {
		bool is_part = false;

		if (!jumps_back(image, candidates.ranges[i], function, &is_part) && is_part)
			ranges[found++] = candidates.ranges[i];
	}
	qsort(ranges, found, sizeof(ranges[0]), compare_ranges);
	*count = found;
	return 0;
}

/** python_process.unpushed while it is made. */
struct unpushed {
	struct python_code_range *ranges;
	uint32_t count;
};

static void add_unpushed(struct unpushed *unpushed, uint64_t start, uint64_t end)
{
	if (unpushed->count < PYTHON_MAX_RANGES && end <= UINT32_MAX)
		unpushed->ranges[unpushed->count++] =
			(struct python_code_range){ .start = (uint32_t)start,
						    .end = (uint32_t)end };
}

/* The frame pointer may be any other pointer as well. */
static bool may_be_on_stack(const struct x86_instruction *instruction)
{
	return instruction->base == X86_RSP || instruction->base == X86_RBP;
}

/* From the beginning to behind the store of the frame, an argument, to tstate->frame. */
static void find_push(struct code_cursor *cursor, const struct python_layout *layout,
		      struct unpushed *unpushed)
{
	uint8_t argument = layout->version >= PYTHON_VERSION(3, 9) ? X86_RSI : X86_RDI;
	uint32_t frames = 1U << argument;

	for (uint32_t i = 0; i < BEGIN_MAX_INSTRUCTIONS && cursor_next(cursor); i++) {
		const struct x86_instruction *x86 = &cursor->x86;

		if (x86->kind == X86_STORE && x86->reg < 16 && frames & 1U << x86->reg &&
		    x86->base != X86_RSP && x86->displacement == layout->frame.thread_frame) {
			add_unpushed(unpushed, cursor->start, cursor->address + cursor->length);
			return;
		}
		if (x86->kind == X86_MOVE && x86->base < 16 && frames & 1U << x86->base)
			frames |= 1U << x86->reg;
		else if (x86->kind == X86_CALL || x86->kind == X86_CALL_INDIRECT)
			frames &= 1U << X86_RBX | 1U << X86_RBP | 0xf000;
		else
			frames &= ~(uint32_t)x86->writes;
	}
}

/* The end of the return that code at @address of the same function goes straight to; 0: it does not. */
static uint64_t return_after(const struct code_cursor *cursor, uint64_t address)
{
	struct code_cursor copy = *cursor;

	copy.offset = address - copy.start;
	copy.length = 0;
	for (uint32_t i = 0; i < RETURN_MAX_INSTRUCTIONS && cursor_next(&copy); i++) {
		if (copy.x86.kind == X86_RETURN)
			return copy.address + copy.length;
		if (copy.x86.kind != X86_POP && copy.x86.kind != X86_ADD &&
		    copy.x86.kind != X86_MOVE && copy.x86.kind != X86_LOAD &&
		    copy.x86.kind != X86_LEAVE)
			return 0;
	}
	return 0;
}

/*
 * From behind each `tstate->frame = f->f_back` to where the function is left. Two moves that look
 * like it are told by what follows: code that goes straight to a return, or to another function.
 */
static void find_pops(struct code_cursor *cursor, const struct python_layout *layout,
		      struct unpushed *unpushed)
{
	uint64_t popped = 0;
	uint32_t since = 0, loaded_since = 0;
	uint8_t loaded = X86_NO_REGISTER;

	while (cursor_next(cursor)) {
		const struct x86_instruction *x86 = &cursor->x86;
		uint64_t target = 0;

		if (popped && x86->kind == X86_RETURN) {
			add_unpushed(unpushed, popped, cursor->address + cursor->length);
			popped = 0;
		} else if (popped && x86->kind == X86_JUMP) {
			uint64_t end = 0;

			cursor_target(cursor, &target);
			if (target >= cursor->start && target < cursor->start + cursor->code.size)
				end = return_after(cursor, target);
			if (end || target < cursor->start ||
			    target >= cursor->start + cursor->code.size)
				add_unpushed(unpushed, popped, cursor->address + cursor->length);
			if (end)
				add_unpushed(unpushed, target, end);
			popped = 0;
		} else if (popped && (++since > END_MAX_INSTRUCTIONS ||
				      (x86->kind != X86_POP && x86->kind != X86_ADD &&
				       x86->kind != X86_MOVE && x86->kind != X86_LOAD &&
				       x86->kind != X86_STORE && x86->kind != X86_LEAVE &&
				       x86->kind != X86_OTHER && x86->kind != X86_NOP &&
				       x86->kind != X86_CALL && x86->kind != X86_BRANCH &&
				       x86->kind != X86_COMPARE))) {
			popped = 0;
		}
		if (x86->kind == X86_LOAD && x86->base != X86_RSP && x86->base != X86_NO_REGISTER &&
		    x86->displacement == layout->frame.previous) {
			loaded = x86->reg;
			loaded_since = 0;
		} else if (x86->kind == X86_STORE && x86->reg == loaded && x86->base != X86_RSP &&
			   x86->displacement == layout->frame.thread_frame) {
			popped = cursor->address + cursor->length;
			since = 0;
			loaded = X86_NO_REGISTER;
		} else if (++loaded_since > 8 ||
			   (loaded != X86_NO_REGISTER && x86->writes & 1U << loaded)) {
			loaded = X86_NO_REGISTER;
		}
	}
}

/* Whether the instruction writes memory at @displacement from the stack or frame pointer. */
static bool writes_stack_at(const struct code_cursor *cursor, uint8_t base, int64_t displacement)
{
	const uint8_t *bytes = cursor->code.data + cursor->offset;
	const struct x86_instruction *x86 = &cursor->x86;
	uint32_t at = 0;
	int32_t found;
	uint8_t mode;

	if (x86->kind == X86_STORE)
		return x86->base == base && x86->displacement == displacement;
	/* movaps, movups, movdqa, movdqu of 16 bytes. */
	if (bytes[0] == 0x66 || bytes[0] == 0xf3)
		at++;
	if (at < x86->length && (bytes[at] & 0xf0) == 0x40)
		at++;
	if (at + 4 > x86->length || bytes[at] != 0x0f ||
	    (bytes[at + 1] != 0x29 && bytes[at + 1] != 0x11 && bytes[at + 1] != 0x7f))
		return false;
	at += 2;
	mode = bytes[at] >> 6;
	if ((bytes[at] & 7) != base || mode == 3 || (!mode && base != X86_RSP))
		return false;
	at += base == X86_RSP ? 2 : 1;
	if (at + (mode == 1 ? 1U : mode == 2 ? 4U : 0U) > x86->length)
		return false;
	found = mode == 1 ? (int8_t)bytes[at] : 0;
	if (mode == 2)
		memcpy(&found, bytes + at, sizeof(found));
	return found == displacement;
}

/* Between `tstate->cframe = &cframe` and the store to cframe.current_frame. */
static void find_cframe(struct code_cursor *cursor, const struct python_layout *layout,
			struct unpushed *unpushed)
{
	int64_t places[16] = { 0 };
	uint8_t bases[16];
	uint64_t installed = 0;
	uint8_t base = X86_NO_REGISTER;
	int64_t place = 0;

	memset(bases, X86_NO_REGISTER, sizeof(bases));
	for (uint32_t i = 0; i < BEGIN_MAX_INSTRUCTIONS && cursor_next(cursor); i++) {
		const struct x86_instruction *x86 = &cursor->x86;

		if (installed &&
		    writes_stack_at(cursor, base, place + layout->frame.cframe_frame)) {
			add_unpushed(unpushed, installed, cursor->address + cursor->length);
			return;
		}
		if (!installed && x86->kind == X86_STORE && x86->reg < 16 &&
		    bases[x86->reg] != X86_NO_REGISTER && x86->base != X86_RSP &&
		    x86->displacement == layout->frame.thread_cframe) {
			installed = cursor->address + cursor->length;
			base = bases[x86->reg];
			place = places[x86->reg];
			continue;
		}
		for (uint8_t reg = 0; reg < 16; reg++) {
			if (x86->writes & 1U << reg)
				bases[reg] = X86_NO_REGISTER;
		}
		if (x86->kind == X86_ADD && x86->reg < 16 && may_be_on_stack(x86) &&
		    x86->reg != x86->base) {
			bases[x86->reg] = x86->base;
			places[x86->reg] = x86->displacement;
		}
	}
}

int python_loop_find_unpushed(const struct elf_image *image, const struct python_layout *layout,
			      uint64_t start, const struct code_range *ranges, uint32_t count,
			      struct python_code_range unpushed[PYTHON_MAX_RANGES])
{
	struct unpushed found = { .ranges = unpushed };

	memset(unpushed, 0, sizeof(*unpushed) * PYTHON_MAX_RANGES);
	if (image->machine != EM_X86_64 || layout->version > PYTHON_VERSION(3, 12))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		__attribute__((cleanup(cursor_deinit))) struct code_cursor cursor = { 0 };
		bool is_entered = start >= ranges[i].start && start < ranges[i].end;
		int err = cursor_init(&cursor, image, ranges[i]);

		if (err)
			return err;
		if (layout->version >= PYTHON_VERSION(3, 11)) {
			if (is_entered)
				find_cframe(&cursor, layout, &found);
			continue;
		}
		if (is_entered) {
			find_push(&cursor, layout, &found);
			cursor.offset = 0;
			cursor.length = 0;
		}
		find_pops(&cursor, layout, &found);
	}
	return 0;
}
