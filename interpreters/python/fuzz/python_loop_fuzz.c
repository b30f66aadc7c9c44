/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code of the eval loop and of functions around it: instructions that the analysis searches for, in any order
 * and with the offsets that it knows, jumps from anywhere to anywhere, and bytes that are no instruction; then damage
 * to the whole file. Nothing crashes or takes long, ranges are sorted and do not overlap, and results lie within them.
 *
 * covers: python_loop.c python_unpushed.c code_cursor.c
 */
#include "interpreters/python/python_loop.h"

#include <errno.h>

#include "interpreters/python/python_unpushed.h"
#include "lib/elf/fuzz/made_elf.h"

enum {
	FUNCTIONS_MAX = 12,
	FDE_BYTES = 16,
	/* Offsets in the content: the table of functions comes first, then their FDEs and their code. */
	FDE_START = 256,
	CODE_START = FDE_START + FUNCTIONS_MAX * FDE_BYTES,
	CODE_BYTES = MADE_CONTENT_BYTES - CODE_START,
};

/* Placeholders in an instruction: a displacement, a jump target of 4 bytes or 1, a byte of the input. */
enum { D = 0x100, T, T1, B };

struct code {
	uint8_t bytes[CODE_BYTES];
	size_t size;
	const struct python_layout *layout;
	struct byte_reader *reader;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(struct code *code, uint64_t value, size_t bytes)
{
	if (bytes > sizeof(code->bytes) - code->size)
		return;
	memcpy(code->bytes + code->size, &value, bytes);
	code->size += bytes;
}

static uint8_t pick_displacement(struct code *code)
{
	const struct python_frame_layout *frame = &code->layout->frame;
	uint8_t choice = byte_reader_u8(code->reader);
	const uint8_t displacements[] = {
		(uint8_t)frame->thread_frame,
		(uint8_t)frame->previous,
		(uint8_t)frame->thread_cframe,
		(uint8_t)frame->cframe_frame,
		16,
		(uint8_t)(16 + frame->cframe_frame),
	};

	return choice < 224 ? displacements[choice % sizeof(displacements)] : choice;
}

/* Picks an address in the code, as a distance from @from. */
static int32_t pick_target(struct code *code, size_t from)
{
	return byte_reader_u8(code->reader) * 16 - (int32_t)from;
}

static void put_x86(struct code *code)
{
	static const uint16_t instructions[][9] = {
		{ 4, 0x48, 0x89, 0x7b, D }, /* mov %rdi,D(%rbx) */
		{ 4, 0x48, 0x89, 0x73, D }, /* mov %rsi,D(%rbx) */
		{ 4, 0x48, 0x8b, 0x48, D }, /* mov D(%rax),%rcx */
		{ 4, 0x48, 0x89, 0x4b, D }, /* mov %rcx,D(%rbx) */
		{ 4, 0x48, 0x89, 0x43, D }, /* mov %rax,D(%rbx) */
		{ 5, 0x48, 0x8d, 0x44, 0x24, D }, /* lea D(%rsp),%rax */
		{ 4, 0x48, 0x8d, 0x45, D }, /* lea D(%rbp),%rax */
		{ 5, 0x48, 0x89, 0x4c, 0x24, D }, /* mov %rcx,D(%rsp) */
		{ 5, 0x0f, 0x11, 0x44, 0x24, D }, /* movups %xmm0,D(%rsp) */
		{ 6, 0x66, 0x0f, 0x7f, 0x44, 0x24, D }, /* movdqa %xmm0,D(%rsp) */
		{ 7, 0xf3, 0x44, 0x0f, 0x7f, 0x44, 0x24, D }, /* movdqu %xmm8,D(%rsp) */
		{ 8, 0x0f, 0x11, 0x85, D, 0, 0, 0 }, /* movups %xmm0,D(%rbp), a wide one */
		{ 4, 0x0f, 0x11, 0x04, 0x24 }, /* movups %xmm0,(%rsp) */
		{ 3, 0x48, 0x89, 0xfb }, /* mov %rdi,%rbx */
		{ 3, 0x48, 0x89, 0xf5 }, /* mov %rsi,%rbp */
		{ 1, 0xc3 }, /* ret */
		{ 1, 0x5b }, /* pop %rbx */
		{ 1, 0xc9 }, /* leave */
		{ 4, 0x48, 0x83, 0xc4, 0x18 }, /* add $24,%rsp */
		{ 2, 0x31, 0xc0 }, /* xor %eax,%eax */
		{ 2, 0xff, 0xd0 }, /* call *%rax */
		{ 2, 0xe8, T }, /* call */
		{ 2, 0xe9, T }, /* jmp */
		{ 2, 0xe9, T },
		{ 3, 0x0f, 0x84, T }, /* je */
		{ 2, 0xeb, T1 }, /* jmp, a short one */
		{ 1, B },
		{ 2, B, B },
	};
	size_t count = sizeof(instructions) / sizeof(instructions[0]);
	const uint16_t *instruction = instructions[byte_reader_u8(code->reader) % count];

	for (uint32_t i = 1; i <= instruction[0]; i++) {
		if (instruction[i] == D)
			put(code, pick_displacement(code), 1);
		else if (instruction[i] == T)
			put(code, (uint32_t)pick_target(code, code->size + 4), 4);
		else if (instruction[i] == T1)
			put(code, (uint8_t)pick_target(code, code->size + 1), 1);
		else
			put(code,
			    instruction[i] == B ? byte_reader_u8(code->reader) : instruction[i], 1);
	}
}

static void put_arm64(struct code *code)
{
	/* Kinds of operand: a displacement of 12 or 7 bits, or a jump target. */
	enum { NOTHING, OFFSET, PAIR_OFFSET, TO_26, TO_19, TO_14, ANY };
	static const struct {
		uint32_t word;
		uint8_t operand;
	} instructions[] = {
		{ 0xf9000260, OFFSET }, /* str x0, [x19, #D] */
		{ 0xf9000261, OFFSET }, /* str x1, [x19, #D] */
		{ 0xf9400002, OFFSET }, /* ldr x2, [x0, #D] */
		{ 0xf9000262, OFFSET }, /* str x2, [x19, #D] */
		{ 0xa9000662, PAIR_OFFSET }, /* stp x2, x1, [x19, #D] */
		{ 0xa9400802, PAIR_OFFSET }, /* ldp x2, x2, [x0, #D] */
		{ 0x910043e2, NOTHING }, /* add x2, sp, #16 */
		{ 0xf90003e2, OFFSET }, /* str x2, [sp, #D] */
		{ 0xa9000be2, PAIR_OFFSET }, /* stp x2, x2, [sp, #D] */
		{ 0xad0003e0, PAIR_OFFSET }, /* stp q0, q0, [sp, #D] */
		{ 0x3d8003e0, NOTHING }, /* str q0, [sp] */
		{ 0xaa0003f3, NOTHING }, /* mov x19, x0 */
		{ 0xaa0103f4, NOTHING }, /* mov x20, x1 */
		{ 0xd65f03c0, NOTHING }, /* ret */
		{ 0xa8c17bfd, NOTHING }, /* ldp x29, x30, [sp], #16 */
		{ 0xd63f0000, NOTHING }, /* blr x0 */
		{ 0xd61f0000, NOTHING }, /* br x0 */
		{ 0x94000000, TO_26 }, /* bl */
		{ 0x14000000, TO_26 }, /* b */
		{ 0x14000000, TO_26 },
		{ 0x54000000, TO_19 }, /* b.eq */
		{ 0xb4000000, TO_19 }, /* cbz x0 */
		{ 0x37000000, TO_14 }, /* tbnz w0 */
		{ 0, ANY },
	};
	size_t count = sizeof(instructions) / sizeof(instructions[0]);
	uint8_t choice = byte_reader_u8(code->reader) % count;
	uint32_t word = instructions[choice].word, to;

	switch (instructions[choice].operand) {
	case OFFSET:
		word |= (uint32_t)pick_displacement(code) / 8 << 10;
		break;
	case PAIR_OFFSET:
		word |= (uint32_t)pick_displacement(code) / 8 << 15;
		break;
	case TO_26:
	case TO_19:
	case TO_14:
		to = (uint32_t)pick_target(code, code->size) / 4;
		word |= instructions[choice].operand == TO_26 ? to & 0x3ffffff :
			instructions[choice].operand == TO_19 ? (to & 0x7ffff) << 5 :
								(to & 0x3fff) << 5;
		break;
	case ANY:
		word = byte_reader_u32(code->reader);
		break;
	}
	put(code, word, 4);
}

/* Makes .eh_frame_hdr and the FDEs of @count functions, which come from the input. */
static void make_functions(struct made_elf *elf, uint32_t count, struct byte_reader *reader,
			   struct code_range *functions)
{
	uint32_t header[3] = { 1 | 0x1b << 8 | 0x03 << 16 | (uint32_t)0x3b << 24, 0, count };
	uint64_t start = 0;

	memcpy(elf->content, header, sizeof(header));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t bytes = byte_reader_u8(reader) * 4, fde = FDE_START + i * FDE_BYTES;
		int32_t entry[2] = { (int32_t)(CODE_START + start), (int32_t)fde };
		int32_t words[4] = { 0, 0, (int32_t)(CODE_START + start) - (int32_t)fde - 8,
				     (int32_t)bytes };

		memcpy(elf->content + sizeof(header) + i * sizeof(entry), entry, sizeof(entry));
		memcpy(elf->content + fde, words, sizeof(words));
		functions[i].start = MADE_ADDRESS(content) + CODE_START + start;
		functions[i].end = functions[i].start + bytes;
		/* Some overlap the next one. */
		start += bytes ? bytes - (bytes & 4) : 4;
	}
}

static void check_unpushed(const struct python_code_range unpushed[PYTHON_MAX_RANGES],
			   const struct code_range *ranges, uint32_t count)
{
	for (uint32_t i = 0; i < PYTHON_MAX_RANGES && unpushed[i].end; i++) {
		bool is_in_range = false;

		for (uint32_t j = 0; j < count; j++)
			is_in_range |= unpushed[i].start >= ranges[j].start &&
				       unpushed[i].end <= ranges[j].end;
		if (!is_in_range || unpushed[i].start >= unpushed[i].end)
			abort();
	}
}

static void analyse(const struct elf_image *image, const struct python_layout *layout,
		    const struct code_range *loop)
{
	struct python_code_range unpushed[PYTHON_MAX_RANGES];
	struct code_range ranges[LOOP_RANGES_MAX];
	uint32_t count = 0;
	bool has_loop = false;

	if (python_loop_find_ranges(image, loop->start, loop->end, ranges, &count))
		return;
	if (!count || count > LOOP_RANGES_MAX)
		abort();
	for (uint32_t i = 0; i < count; i++) {
		if (ranges[i].start >= ranges[i].end || (i && ranges[i].start < ranges[i - 1].end))
			abort();
		has_loop |= ranges[i].start <= loop->start && ranges[i].end > loop->start;
	}
	if (!has_loop)
		abort();
	python_loop_saved_bytes(image, loop->start);
	if (!python_unpushed_find(image, layout, loop->start, ranges, count, unpushed))
		check_unpushed(unpushed, ranges, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t versions[] = {
		0x207, 0x306, 0x307, 0x308, 0x309, 0x30a, 0x30b, 0x30c
	};
	static struct made_elf elf;
	static struct code code;
	struct code_range functions[FUNCTIONS_MAX] = { 0 }, loop;
	struct python_layout layout;
	struct byte_reader reader;
	struct elf_image image;
	uint8_t choice;
	uint32_t count, instructions;

	byte_reader_init(&reader, data, size);
	choice = byte_reader_u8(&reader);
	count = 1 + byte_reader_u8(&reader) % FUNCTIONS_MAX;
	python_layout_init(&layout, versions[choice & 7], choice & 8);
	made_elf_init(&elf, choice & 16 ? EM_AARCH64 : EM_X86_64);
	make_functions(&elf, count, &reader, functions);
	code.size = 0;
	code.layout = &layout;
	code.reader = &reader;
	instructions = byte_reader_u8(&reader) * 4;
	for (uint32_t i = 0; i < instructions && byte_reader_left(&reader); i++) {
		if (choice & 16)
			put_arm64(&code);
		else
			put_x86(&code);
	}
	memcpy(elf.content + CODE_START, code.bytes, code.size);
	made_elf_damage(&elf, &reader);
	if (elf_image_init_memory(&image, &elf, MADE_ELF_BYTES))
		return 0;
	loop = functions[(choice >> 5) % count];
	/* A symbol without a size. */
	if (choice & 128)
		loop.end = loop.start;
	analyse(&image, &layout, &loop);
	elf_image_deinit(&image);
	return 0;
}
