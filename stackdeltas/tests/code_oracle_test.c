/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis of code against the call frame information of files that have it: each file is
 * analysed as if it had none, and every address that the compiler's tables describe is compared.
 *
 * usage: code_oracle_test [FILE|DIRECTORY]...	(without: a slice)
 *
 * Each file is taken twice: with its functions' starts known, as from symbols, and with none known,
 * as in a stripped file. Frames are made up: registers and memory are random, so two rules agree
 * only if they mean the same. Where both describe the CFA by different registers, the made-up frame
 * is one in which these lead to the same CFA, and all else is compared; such addresses are counted.
 * Prints TAP.
 */
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/cleanup.h"
#include "lib/base/vector.h"
#include "lib/elf/elf_image.h"
#include "stackdeltas/code/arm64_step.h"
#include "stackdeltas/code/code_analysis.h"
#include "stackdeltas/code/x86_step.h"
#include "stackdeltas/code_pointers.h"
#include "stackdeltas/rule_text.h"
#include "stackdeltas/tests/code_proof.h"
#include "stackdeltas/tests/oracle_files.h"
#include "stackdeltas/tests/oracle_frame.h"
#include "stackdeltas/tests/oracle_sections.h"

enum {
	SHOWN_DIFFERENCES = 3,
	MAX_RANGES = 8,
	ENTRY_MAX_BYTES = 1024,
	/* Frames of some programs have several hundred KiB. */
	SLOT_SEARCH_BYTES = 1 << 20,
	SECOND_NS = 1000000000,
};

enum verdict {
	CLASS_EQUAL,
	/* The CFA is the same if two registers stand to each other as the rules imply. */
	CLASS_OTHER_REGISTER,
	/* We say a register is the caller's again, the table that it lies where it was saved, and
	 * that is below the stack pointer: a pop restored it. */
	CLASS_POPPED,
	/* The same, above the stack pointer: a load restored it. */
	CLASS_LOADED,
	/* We say that a register was saved, the table that it still has the caller's value. */
	CLASS_SAVED,
	/* No-ops behind an end, where the table goes on with what comes next. */
	CLASS_PADDING,
	/* The ELF entry point of a file whose table gives it a caller all the same. */
	CLASS_ENTRY_POINT,
	/* The table gives rbx the slot of rbp: assembly of OpenSSL pushes them the other way round. */
	CLASS_TABLE_SWAPS,
	/* We say that the caller's fp or rbx is lost, the table says where it is. */
	CLASS_DECLARED_LOST,
	/* The instructions from here to the return, executed in a made-up frame, confirm our rule
	 * (code_proof.h). LLVM writes no call frame information for epilogues. */
	CLASS_NO_EPILOGUE,
	/* The instructions from the function's entry to here do: LLVM 14 writes the information for
	 * a prologue behind it. */
	CLASS_NO_PROLOGUE,
	CLASS_CFA,
	CLASS_RETURN_ADDRESS,
	CLASS_FRAME_POINTER,
	CLASS_RBX,
	CLASS_OUTERMOST,
	/* The table gives no caller to a function that does not differ from others. */
	CLASS_TABLE_ENDS,
	CLASS_UNKNOWN,
	CLASS_COUNT,
};

static const char *const class_names[CLASS_COUNT] = {
	[CLASS_EQUAL] = "equal",
	[CLASS_OTHER_REGISTER] = "equal by another register",
	[CLASS_POPPED] = "restored by a pop, and still below the stack",
	[CLASS_LOADED] = "restored by a load, and still in its slot",
	[CLASS_SAVED] = "saved already, and not changed yet",
	[CLASS_PADDING] = "padding",
	[CLASS_ENTRY_POINT] = "entry point",
	[CLASS_TABLE_SWAPS] = "rbx in the slot of rbp by the table",
	[CLASS_DECLARED_LOST] = "fp or rbx declared lost",
	[CLASS_NO_EPILOGUE] = "table leaves out an epilogue, which gives what we say",
	[CLASS_NO_PROLOGUE] = "table leaves out a prologue, which gives what we say",
	[CLASS_CFA] = "CFA differs",
	[CLASS_RETURN_ADDRESS] = "return address differs",
	[CLASS_FRAME_POINTER] = "frame pointer differs",
	[CLASS_RBX] = "rbx differs",
	[CLASS_OUTERMOST] = "outermost on one side only",
	[CLASS_TABLE_ENDS] = "outermost by the table's word only",
	[CLASS_UNKNOWN] = "no rule",
};

struct row {
	uint64_t address;
	struct unwind_rule rule;
};

VECTOR_DEFINE(row_list, struct row)
VECTOR_DEFINE(address_list, uint64_t)

struct figures {
	/* Numbers of addresses: verified, and guessed. */
	uint64_t classes[2][CLASS_COUNT];
	uint64_t functions;
	uint64_t believed;
	uint64_t bytes;
	uint64_t time_ns;
	uint64_t files;
};

/* [0]: starts known; [1]: none. */
static struct figures totals[2];
static const char *const mode_names[2] = { "starts known", "no starts known" };

struct file {
	const char *path;
	const struct frame_registers *numbers;
	/* Its code is that of ranges. */
	struct proof_input input;
	uint64_t entry;
	struct code_bytes ranges[MAX_RANGES];
	/* Its ranges are those; pointers. */
	struct bare_code code;
	struct row_list rows;
	int shown;
};

/* The register that @rule counts from, or -1. */
static int base_of(const struct file *file, const struct unwind_rule *rule)
{
	switch (rule->cfa) {
	case CFA_SP:
	case CFA_DEREF_SP:
		return file->numbers->sp;
	case CFA_FP:
	case CFA_DEREF_FP:
		return file->numbers->fp;
	case CFA_REGISTER:
		return rule->cfa_register;
	default:
		return -1;
	}
}

/* Where a made-up frame keeps the value that libdw found, as an offset to the CFA, if near. */
static bool find_slot(const struct frame *frame, uint64_t cfa, uint64_t value, int64_t *offset)
{
	for (*offset = -8; *offset > -SLOT_SEARCH_BYTES; *offset -= 8)
		if (load(frame, cfa + *offset) == value)
			return true;
	return false;
}

/* @our_outcome and @our_value: of the caller's register @number, which is unchanged if @is_same. */
static enum verdict compare_register(const struct unwind_rule *rule, Dwarf_Frame *row,
				     const struct frame *frame, uint64_t cfa, int number,
				     enum outcome our_outcome, uint64_t our_value, bool is_same,
				     enum verdict difference)
{
	uint64_t value = 0;
	enum outcome outcome = register_by_libdw(row, frame, number, cfa, &value);
	int64_t slot;

	if (our_outcome == OUTCOME_UNDEFINED)
		return outcome == OUTCOME_UNDEFINED ? CLASS_EQUAL : CLASS_DECLARED_LOST;
	if (outcome == our_outcome && value == our_value)
		return CLASS_EQUAL;
	/* A register that a table does not mention is unchanged; libdw assumes that only for few registers. */
	if (outcome == OUTCOME_UNDEFINED && is_same && number == X86_RBX)
		return CLASS_EQUAL;
	if (outcome == OUTCOME_VALUE && is_same && find_slot(frame, cfa, value, &slot))
		return rule->cfa == CFA_SP && -slot > rule->cfa_offset ? CLASS_POPPED :
									 CLASS_LOADED;
	if (!is_same && (outcome == OUTCOME_UNDEFINED || value == frame->registers[number]))
		return CLASS_SAVED;
	return difference;
}

static enum verdict compare_rbx(const struct unwind_rule *rule, Dwarf_Frame *row,
				const struct frame *frame, uint64_t cfa)
{
	uint64_t value = frame->registers[X86_RBX];
	enum verdict verdict;

	if (rule->rbx_slot && rule->rbx_slot != RBX_LOST)
		value = load(frame, cfa - 8 * rule->rbx_slot);
	verdict = compare_register(rule, row, frame, cfa, X86_RBX,
				   rule->rbx_slot == RBX_LOST ? OUTCOME_UNDEFINED : OUTCOME_VALUE,
				   value, !rule->rbx_slot, CLASS_RBX);
	if (verdict == CLASS_RBX && rule->fp == SAVED_AT_CFA &&
	    register_by_libdw(row, frame, X86_RBX, cfa, &value) == OUTCOME_VALUE &&
	    value == load(frame, cfa + rule->fp_offset))
		return CLASS_TABLE_SWAPS;
	return verdict;
}

/* The worst verdict of what is saved. */
static enum verdict compare_saved(const struct unwind_rule *rule, Dwarf_Frame *row,
				  const struct frame *frame, uint64_t cfa)
{
	uint64_t value = 0;
	enum outcome outcome = register_by_rule(rule, true, frame, cfa, &value);
	enum verdict worst = compare_register(rule, row, frame, cfa, frame->numbers->ra, outcome,
					      value, rule->ra == SAVED_SAME, CLASS_RETURN_ADDRESS);
	enum verdict verdict;

	outcome = register_by_rule(rule, false, frame, cfa, &value);
	verdict = compare_register(rule, row, frame, cfa, frame->numbers->fp, outcome, value,
				   rule->fp == SAVED_SAME, CLASS_FRAME_POINTER);
	if (verdict > worst)
		worst = verdict;
	if (frame->numbers->machine == EM_X86_64) {
		verdict = compare_rbx(rule, row, frame, cfa);
		if (verdict > worst)
			worst = verdict;
	}
	return worst;
}

static enum verdict compare_frame(const struct file *file, const struct unwind_rule *rule,
				  Dwarf_Frame *row, uint64_t address, uint64_t seed)
{
	enum verdict verdict = CLASS_EQUAL, saved;
	uint64_t cfa = 0, our_cfa, value;
	struct frame frame;
	Dwarf_Op *operations;
	size_t count;
	bool is_value;

	if (rule->cfa == CFA_NONE)
		return CLASS_UNKNOWN;
	make_frame(&frame, file->numbers, seed, address);
	if (register_by_libdw(row, &frame, file->numbers->ra, 0, &value) == OUTCOME_UNDEFINED)
		return rule->cfa == CFA_END ? CLASS_EQUAL : CLASS_TABLE_ENDS;
	if (rule->cfa == CFA_END)
		return address >= file->entry && address - file->entry < ENTRY_MAX_BYTES ?
			       CLASS_ENTRY_POINT :
			       CLASS_OUTERMOST;
	if (base_of(file, rule) < 0)
		return CLASS_CFA;
	if (dwarf_frame_cfa(row, &operations, &count) ||
	    !evaluate(&frame, operations, count, 0, false, &cfa, &is_value))
		return CLASS_CFA;
	if (!sp_by_rule(rule, &frame, &our_cfa))
		return CLASS_CFA;
	if (our_cfa != cfa) {
		int base = base_of(file, rule);
		int64_t offset;

		if (is_sum(operations, base, &offset))
			return CLASS_CFA;
		if (rule->cfa != CFA_DEREF_SP && rule->cfa != CFA_DEREF_FP) {
			frame.registers[base] = cfa - rule->cfa_offset;
		} else if (count < 2 || operations[1].atom != DW_OP_deref ||
			   !evaluate(&frame, operations, 1, 0, false, &value, &is_value)) {
			return CLASS_CFA;
		} else {
			frame.registers[base] = value - rule->cfa_offset;
			if (!sp_by_rule(rule, &frame, &our_cfa) || our_cfa != cfa)
				return CLASS_CFA;
		}
		verdict = CLASS_OTHER_REGISTER;
	}
	saved = compare_saved(rule, row, &frame, cfa);
	return saved == CLASS_EQUAL ? verdict : saved;
}

static bool is_no_op(const struct file *file, uint64_t address)
{
	struct code_step step = { .flow = CODE_FLOW_BAD };
	size_t left;
	const uint8_t *code = proof_code(&file->input, address, &left);

	if (code && file->numbers->machine == EM_X86_64)
		x86_step(code, left, NULL, &step);
	else if (code)
		arm64_step(code, left, NULL, &step);
	return step.flow == CODE_FLOW_NOP;
}

/* The class of a difference at @address, if its cause can be shown. */
static enum verdict explain(const struct file *file, const struct unwind_rule *rule,
			    uint64_t address, enum verdict verdict)
{
	if (verdict < CLASS_CFA || verdict > CLASS_OUTERMOST)
		return verdict;
	if (is_no_op(file, address))
		return CLASS_PADDING;
	if (file->numbers->machine != EM_AARCH64 || verdict == CLASS_OUTERMOST)
		return verdict;
	if (proof_by_exit(&file->input, rule, address))
		return CLASS_NO_EPILOGUE;
	return proof_by_entry(&file->input, rule, address) ? CLASS_NO_PROLOGUE : verdict;
}

static void show(struct file *file, uint64_t address, const struct unwind_rule *rule,
		 enum verdict verdict)
{
	char text[RULE_TEXT_MAX_BYTES];

	if (verdict < CLASS_CFA || verdict > CLASS_OUTERMOST || rule->flags & RULE_GUESS ||
	    file->shown++ >= SHOWN_DIFFERENCES)
		return;
	rule_text(rule, file->numbers->machine, text);
	printf("# %s: %#" PRIx64 ": %s: %s\n", file->path, address, text, class_names[verdict]);
}

/* All of the table's row at [start, end), which lies in one range. */
static void compare_row(struct file *file, Dwarf_Frame *row, uint64_t start, uint64_t end,
			size_t *index, struct figures *figures)
{
	while (start < end) {
		const struct row *ours;
		uint64_t next;
		enum verdict verdict = CLASS_EQUAL;

		while (*index + 1 < file->rows.count &&
		       file->rows.items[*index + 1].address <= start)
			++*index;
		ours = &file->rows.items[*index];
		next = *index + 1 < file->rows.count ? ours[1].address : end;
		if (next > end)
			next = end;
		for (uint64_t seed = 1; seed <= 2 && verdict == CLASS_EQUAL; seed++)
			verdict = compare_frame(file, &ours->rule, row, start, seed);
		verdict = explain(file, &ours->rule, start, verdict);
		show(file, start, &ours->rule, verdict);
		figures->classes[ours->rule.flags & RULE_GUESS ? 1 : 0][verdict] += next - start;
		start = next;
	}
}

static void compare_range(struct file *file, const struct code_bytes *range,
			  struct figures *figures)
{
	uint64_t end = range->address + range->size;
	size_t index = 0;

	for (uint64_t address = range->address; address < end;) {
		Dwarf_Frame *row;
		Dwarf_Addr row_start, row_end;
		bool is_signal;

		if (dwarf_cfi_addrframe(file->input.cfi, address, &row)) {
			address++;
			continue;
		}
		dwarf_frame_info(row, &row_start, &row_end, &is_signal);
		if (row_end > end)
			row_end = end;
		if (row_end <= address)
			row_end = address + 1;
		if (!is_signal)
			compare_row(file, row, address, row_end, &index, figures);
		free(row);
		address = row_end;
	}
}

/* Starts of functions, out of the search table that linkers make of the FDEs. */
static bool find_starts(const struct file *file, Elf *elf, struct address_list *starts)
{
	static const uint8_t encodings[] = { 1, 0x1b, 3, 0x3b };
	Elf64_Shdr header;
	const Elf_Data *data = find_section(elf, ".eh_frame_hdr", &header);
	const int32_t *words;

	if (!data || data->d_size < 12 || memcmp(data->d_buf, encodings, sizeof(encodings)) != 0)
		return false;
	words = data->d_buf;
	for (int32_t i = 0; i < words[2] && 20 + 8 * (size_t)i <= data->d_size; i++) {
		uint64_t address = header.sh_addr + words[3 + 2 * i], row_start;

		/* FDEs of cold parts may begin with the padding before them. */
		if (!is_no_op(file, address) && is_entry(&file->input, address, &row_start) &&
		    address_list_push(starts, address))
			return false;
	}
	return starts->count > 0;
}

static int keep_row(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct file *file = context;

	return row_list_push(&file->rows, (struct row){ address, *rule });
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * SECOND_NS + time.tv_nsec;
}

static void analyse(struct file *file, const struct address_list *starts, struct figures *figures)
{
	const struct code_row_handler handler = { .context = file, .row = keep_row };
	const struct code_analysis_input input = {
		.machine = file->numbers->machine,
		.entry = file->entry,
		.ranges = file->ranges,
		.range_count = file->input.range_count,
		.starts = starts ? starts->items : NULL,
		.start_count = starts ? starts->count : 0,
		.pointers = file->code.pointers.items,
		.pointer_count = file->code.pointers.count,
	};
	struct code_analysis_statistics statistics;
	uint64_t before = now_ns();

	file->rows.count = 0;
	file->shown = 0;
	if (code_analysis_run(&input, &handler, &statistics) || !file->rows.count)
		return;
	figures->time_ns += now_ns() - before;
	figures->files++;
	figures->functions += statistics.function_count;
	figures->believed += statistics.believed_count;
	for (uint32_t i = 0; i < file->input.range_count; i++) {
		figures->bytes += file->ranges[i].size;
		compare_range(file, &file->ranges[i], figures);
	}
}

static void read_ranges(struct file *file, Elf *elf)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)) && file->input.range_count < MAX_RANGES) {
		const Elf64_Shdr *header = elf64_getshdr(section);
		const char *name = section_name(elf, header);
		const Elf_Data *data;

		if (!header || !(header->sh_flags & SHF_EXECINSTR) ||
		    header->sh_type != SHT_PROGBITS)
			continue;
		data = elf_rawdata(section, NULL);
		if (!name || !strncmp(name, ".plt", 4) || !data || !data->d_size)
			continue;
		file->ranges[file->input.range_count++] = (struct code_bytes){
			header->sh_addr,
			data->d_buf,
			data->d_size,
		};
	}
}

/* Linkers give libraries an entry point too, that of their first code. */
static bool has_interpreter(Elf *elf)
{
	const Elf64_Phdr *segments = elf64_getphdr(elf);
	size_t count = 0;

	if (!segments || elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (segments[i].p_type == PT_INTERP)
			return true;
	return false;
}

/* Pointers in data are found in a stripped file, too. */
static void read_pointers(struct file *file, int fd)
{
	struct elf_image image;

	if (elf_image_init_fd(&image, fd))
		return;
	file->code.ranges = file->ranges;
	file->code.range_count = file->input.range_count;
	if (code_pointers_read(&image, &file->code))
		address_vector_deinit(&file->code.pointers);
	elf_image_deinit(&image);
}

static void check_elf(const char *path, Elf *elf, int fd)
{
	const Elf64_Ehdr *header = elf64_getehdr(elf);
	struct file file = { .path = path };
	_cleanup_(address_list_deinit) struct address_list starts = { 0 };

	if (!header || (header->e_type != ET_EXEC && header->e_type != ET_DYN) ||
	    (header->e_machine != EM_X86_64 && header->e_machine != EM_AARCH64))
		return;
	file.numbers = header->e_machine == EM_X86_64 ? &x86_registers : &arm64_registers;
	file.input.numbers = file.numbers;
	file.input.ranges = file.ranges;
	file.entry = has_interpreter(elf) || header->e_type == ET_EXEC ? header->e_entry : 0;
	file.input.cfi = dwarf_getcfi_elf(elf);
	read_ranges(&file, elf);
	read_pointers(&file, fd);
	if (file.input.cfi && file.input.range_count && find_starts(&file, elf, &starts)) {
		analyse(&file, &starts, &totals[0]);
		analyse(&file, NULL, &totals[1]);
	}
	if (file.input.cfi)
		dwarf_cfi_end(file.input.cfi);
	row_list_deinit(&file.rows);
	address_vector_deinit(&file.code.pointers);
}

static void check_file(const char *path)
{
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char magic[4];
	Elf *elf;

	if (fd < 0 || pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, ELFMAG, sizeof(magic)) != 0)
		return;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	check_elf(path, elf, fd);
	elf_end(elf);
}

static void check_slice(void)
{
	static const char *const files[] = {
		"/bin/ls",
		"/usr/bin/python3.11",
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/aarch64-linux-gnu/lib/libc.so.6",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		check_file(files[i]);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

/* Prints the figures of a mode; the number of tests that failed. */
static int print_figures(int mode)
{
	static const char *const trust_names[2] = { "believed", "guessed" };
	const struct figures *figures = &totals[mode];
	uint64_t believed = 0, different = 0, left_out = 0, all = 0;
	bool is_right;

	for (int trust = 0; trust < 2; trust++)
		for (int verdict = 0; verdict < CLASS_COUNT; verdict++)
			all += figures->classes[trust][verdict];
	printf("# %s: %" PRIu64 " files, %" PRIu64 " addresses, %.1f MB/s\n", mode_names[mode],
	       figures->files, all,
	       figures->time_ns ? 1000.0 * figures->bytes / figures->time_ns : 0);
	printf("# %s: %" PRIu64 " functions found, %.2f %% believed\n", mode_names[mode],
	       figures->functions, percent(figures->believed, figures->functions));
	for (int trust = 0; trust < 2; trust++)
		for (int verdict = 0; verdict < CLASS_COUNT; verdict++) {
			uint64_t count = figures->classes[trust][verdict];

			if (count)
				printf("# %s: %12" PRIu64 " %9.4f %%  %s: %s\n", mode_names[mode],
				       count, percent(count, all), trust_names[trust],
				       class_names[verdict]);
			if (trust == 0 && verdict != CLASS_UNKNOWN)
				believed += count;
			if (trust == 0 && verdict >= CLASS_CFA && verdict <= CLASS_OUTERMOST)
				different += count;
			if (trust == 0 &&
			    (verdict == CLASS_NO_EPILOGUE || verdict == CLASS_NO_PROLOGUE))
				left_out += count;
		}
	is_right = believed && different * 10000 < believed;
	printf("# %s: of the believed addresses %.4f %% differ, with what tables leave out %.4f "
	       "%%\n",
	       mode_names[mode], percent(different, believed),
	       percent(different + left_out, believed));
	printf("%s %d - of what is believed with %s less than 0.01 %% differs\n",
	       is_right ? "ok" : "not ok", 2 * mode + 1, mode_names[mode]);
	printf("%s %d - with %s over 85 %% of the functions are believed\n",
	       figures->believed * 100 > figures->functions * 85 ? "ok" : "not ok", 2 * mode + 2,
	       mode_names[mode]);
	return !is_right + !(figures->believed * 100 > figures->functions * 85);
}

int main(int argc, char **argv)
{
	int failed;

	elf_version(EV_CURRENT);
	if (argc == 1)
		check_slice();
	oracle_visit_files(argv + 1, argc - 1, check_file);
	failed = print_figures(0) + print_figures(1);
	printf("1..4\n");
	return failed != 0;
}
