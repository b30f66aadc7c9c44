/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows out of a damaged table of Go. The input says which functions a file has: byte 0 its version, byte
 * 1 machine and kind, byte 2 how many functions there are, of 4 bytes each; behind that each 6 bytes
 * change a word of the file, some of them after the spans were found. Rows pass stack_deltas_check(),
 * and with an undamaged table each address has the rule that the input gave it.
 *
 * covers: go_code.c go_rules.c
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/go.h"
#include "lib/base/byte_reader.h"
#include "lib/elf/tests/go_table_example.h"
#include "stackdeltas/extract_deltas.h"
#include "stackdeltas/go_code.h"
#include "stackdeltas/go_rules.h"
#include "stackdeltas/unwind_input.h"

enum {
	TEXT = MADE_GO_ADDRESS + MADE_GO_TEXT,
	FUNCTION_BYTES_MAX = 256,
	VALUES = 4,
	CHANGE_BYTES = 6,
	/* Number of changes after the spans were found, if byte 1 asks for them. */
	LATE_CHANGES = 4,
};

static const char *const names[] = {
	"main.main",
	"runtime.goexit",
	"runtime.systemstack",
	"runtime.cgocallback",
	"runtime.sigreturn__sigaction",
	"crosscall2",
	"runtime.sigfwd",
	"syscall.rawVforkSyscall",
	"time.now",
	"gogo",
	"_rt0_amd64_linux",
	"runtime.execute",
	"runtime.a.name.that.is.longer.than.all.of.those.that.are.looked.for",
};

struct made {
	struct made_go go;
	struct made_function functions[MADE_GO_FUNCTIONS_MAX];
	struct made_value sizes[MADE_GO_FUNCTIONS_MAX][VALUES + 1];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool is_true)
{
	if (!is_true)
		abort();
}

/* Four bytes: name and flags, length, first size, where it holds. */
static void take_function(struct made *made, uint32_t index, struct byte_reader *reader)
{
	/* mov %rsp,%rbx; call *%rax; mov %rbx,%rsp */
	static const uint8_t aligning[] = { 0x48, 0x89, 0xe3, 0xff, 0xd0, 0x48, 0x89, 0xdc };
	struct made_function *function = &made->functions[index];
	struct made_value *sizes = made->sizes[index];
	uint32_t quantum = made_go_quantum(&made->go), start = MADE_GO_TEXT, bytes;
	uint8_t kind = byte_reader_u8(reader), length = byte_reader_u8(reader);
	int8_t frame = byte_reader_u8(reader);
	uint8_t end = byte_reader_u8(reader);

	bytes = 32 + length / quantum * quantum % (FUNCTION_BYTES_MAX - 32);
	end = end / quantum * quantum;
	sizes[0] = (struct made_value){ 0, quantum };
	/* A change by 0 would be the table's end. */
	sizes[1] = (struct made_value){ frame ? frame * 8 : 8, quantum + 12 };
	sizes[2] = (struct made_value){ 0, end > 16 && end < bytes ? end : bytes };
	sizes[3] = (struct made_value){ 0, 0 };
	*function = (struct made_function){
		.name = names[(kind & 31) % (sizeof(names) / sizeof(names[0]))],
		.bytes = bytes,
		.flags = kind & 32 ? 6 : 0,
		.sizes = kind & 128 ? NULL : sizes,
	};
	for (uint32_t i = 0; i < index; i++)
		start += made->functions[i].bytes;
	if (kind & 64)
		memcpy(made->go.bytes + start + 2, aligning, sizeof(aligning));
}

static void take_functions(struct made *made, struct byte_reader *reader)
{
	static const char *const sections[] = { ".gopclntab", ".x", NULL, ".go.buildinfo" };
	const struct made_go_version *version =
		&made_go_versions[byte_reader_u8(reader) % MADE_GO_VERSIONS];
	uint8_t choice = byte_reader_u8(reader), count = byte_reader_u8(reader);

	memset(made, 0, sizeof(*made));
	made->go.version = version->version;
	made->go.minor = version->minor;
	made->go.machine = choice & 1 ? EM_AARCH64 : EM_X86_64;
	made->go.is_relocated = choice & 2;
	made->go.section_name = sections[choice >> 2 & 3];
	made->go.functions = made->functions;
	made->go.function_count = 1 + count % (MADE_GO_FUNCTIONS_MAX - 2);
	for (uint32_t i = 0; i < made->go.function_count; i++)
		take_function(made, i, reader);
	made_go_make(&made->go);
}

/* Changes a word: of the functions and their index, of the table, or of anything. */
static bool damage(struct made_go *go, struct byte_reader *reader, int count_max)
{
	const struct {
		uint32_t start, end;
	} parts[] = {
		{ go->functions_at, go->functions_at + 1024 },
		{ MADE_GO_TABLE, MADE_GO_TABLE + 2048 },
		{ MADE_GO_TEXT, MADE_GO_TEXT + 1024 },
		{ 0, MADE_GO_BYTES },
	};
	bool is_damaged = false;

	for (; count_max && byte_reader_left(reader) >= CHANGE_BYTES; count_max--) {
		uint8_t part = byte_reader_u8(reader) & 3, kind = byte_reader_u8(reader);
		uint32_t bytes = 1U << (kind & 3), at = parts[part].start;
		uint64_t value;

		at += byte_reader_u16(reader) % (parts[part].end - at);
		value = (uint64_t)(int16_t)byte_reader_u16(reader);
		if (bytes > 1)
			at &= ~3U;
		if (at + bytes > MADE_GO_BYTES)
			continue;
		if (kind & 4)
			value += go->bytes[at];
		memcpy(go->bytes + at, &value, bytes);
		is_damaged = true;
	}
	return is_damaged;
}

/* Checks an undamaged table: ordinary functions have rules where their frame is known. */
static void check_functions(const struct made *made, const struct stack_deltas *deltas)
{
	uint32_t quantum = made_go_quantum(&made->go);
	uint64_t start = TEXT;

	for (uint32_t i = 0; i < made->go.function_count; start += made->functions[i++].bytes) {
		const struct unwind_rule *rule = stack_deltas_lookup(deltas, start + quantum);
		struct unwind_rule expected;

		if (!made->functions[i].sizes || made->functions[i].name != names[0])
			continue;
		go_rule_make(made->go.machine, GO_ROLE_ORDINARY, made->sizes[i][1].value,
			     &expected);
		expect(rule && !memcmp(rule, &expected, sizeof(expected)));
	}
}

static void check_rows(struct made *made, struct go_code *code, bool is_damaged)
{
	struct unwind_input input = {
		.machine = made->go.machine,
		.segment_count = 1,
		.segments = { { TEXT, TEXT + MADE_GO_TEXT_BYTES } },
		.go = code,
	};
	struct stack_deltas deltas = { 0 };

	if (extract_deltas(&input, NULL, &deltas, NULL)) {
		expect(is_damaged || !code->spans.count);
		return;
	}
	expect(!stack_deltas_check(&deltas));
	if (!is_damaged)
		check_functions(made, &deltas);
	stack_deltas_deinit(&deltas);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made made;
	struct byte_reader reader;
	struct elf_image image;
	struct go_code *code;
	bool is_late, is_damaged = false;

	if (size < 3)
		return 0;
	is_late = data[1] & 16;
	byte_reader_init(&reader, data, size);
	take_functions(&made, &reader);
	if (!is_late)
		is_damaged = damage(&made.go, &reader, -1);
	if (elf_image_init_memory(&image, made.go.bytes, sizeof(made.go.bytes)))
		return 0;
	if (!go_code_create(&image, &code)) {
		for (size_t i = 1; i < code->spans.count; i++)
			expect(code->spans.items[i].start >= code->spans.items[i - 1].end);
		if (is_late) {
			go_table_release(&code->table);
			is_damaged = damage(&made.go, &reader, LATE_CHANGES);
		}
		check_rows(&made, code, is_damaged);
		go_code_destroy(code);
	} else {
		expect(is_damaged);
	}
	elf_image_deinit(&image);
	return 0;
}
