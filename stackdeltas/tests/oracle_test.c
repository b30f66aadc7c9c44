/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stack deltas against libdw, which reads the same tables by code that shares nothing with ours.
 *
 * usage: oracle_test [FILE|DIRECTORY]...	(without: a slice of every kind of file)
 *
 * For every row of every FDE both sides are evaluated in made-up frames: registers and memory are
 * random, so two rules agree only if they mean the same. Every address of the text is covered:
 * where libdw knows nothing, there must be no rule but one made from code (which code_oracle_test
 * is for), and the other way round. Where .eh_frame says nothing, libdw is asked for the other
 * tables in their order. Rows that we declare to be beyond our rules fall in named classes, whose
 * shares are printed; together they must stay under 0.1 % of all rows. Prints TAP.
 */
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/debug_file.h"
#include "lib/elf/elf_image.h"
#include "stackdeltas/extract_deltas.h"
#include "stackdeltas/rule_text.h"
#include "stackdeltas/tests/oracle_files.h"
#include "stackdeltas/tests/oracle_frame.h"
#include "stackdeltas/tests/oracle_tables.h"

enum {
	SHOWN_DIFFERENCES = 5,
	ENTRY_MAX_BYTES = 64,
};

/* Results of a comparison; all but CLASS_DIFFERENT are equal or declared. */
enum verdict {
	CLASS_EQUAL,
	/* "unsupported": counted by the extractor under its reasons */
	CLASS_UNSUPPORTED,
	/* The frame pointer alone is beyond our rules and declared lost. */
	CLASS_FRAME_POINTER,
	/* rbx alone is beyond our rules and declared lost. */
	CLASS_RBX,
	/* libdw cannot make sense of the FDE, neither can we. */
	CLASS_BOTH_REFUSE,
	/* No FDE holds the ELF entry point, which is the outermost frame all the same. */
	CLASS_ENTRY_POINT,
	/* PLT stubs that the linker left without FDE. */
	CLASS_STUB,
	/*
	 * libdw takes no DW_CFA_def_cfa_register after an expression; readelf -wF and GCC's unwinder
	 * do, with the last offset.
	 */
	CLASS_NO_CFA,
	/* libdw ends .debug_frame at a terminator, behind which Go's linker puts the tables of C. */
	CLASS_BEHIND_TERMINATOR,
	/* Code of glibc that is known by its bytes, whose tables are wrong or missing. */
	CLASS_KNOWN_RANGE,
	/* Rows from instructions, where no table says anything: not compared, not in the shares. */
	CLASS_CODE,
	CLASS_DIFFERENT,
	CLASS_COUNT,
};

static const char *const class_names[CLASS_COUNT] = {
	"equal",
	"rule not expressible",
	"frame pointer not expressible",
	"rbx not expressible",
	"refused by both",
	"entry point without FDE",
	"PLT stubs without FDE",
	"CFA refused by libdw",
	"behind a terminator, unread by libdw",
	"known range of glibc",
	"from code, no table",
	"different",
};

struct totals {
	uint64_t rows[CLASS_COUNT];
	uint64_t files;
	uint64_t with_more_tables;
	uint64_t without_tables;
	int tests;
	int failed;
};

static struct totals totals;

static enum verdict compare_frame(const struct unwind_rule *rule, Dwarf_Frame *row,
				  const struct frame *frame)
{
	uint64_t cfa = 0, sp = 0, our_sp = 0, value = 0, our_value = 0;
	Dwarf_Op *operations;
	size_t count;
	enum outcome outcome, our_outcome;
	bool is_value;

	outcome = register_by_libdw(row, frame, frame->numbers->ra, 0, &value);
	if (outcome == OUTCOME_UNDEFINED || rule->cfa == CFA_END)
		return outcome == OUTCOME_UNDEFINED && rule->cfa == CFA_END ? CLASS_EQUAL :
		       rule->cfa == CFA_UNSUPPORTED			    ? CLASS_UNSUPPORTED :
									      CLASS_DIFFERENT;
	if (rule->cfa == CFA_UNSUPPORTED)
		return CLASS_UNSUPPORTED;
	if (dwarf_frame_cfa(row, &operations, &count) ||
	    !evaluate(frame, operations, count, 0, false, &cfa, &is_value) ||
	    !sp_by_rule(rule, frame, &our_sp))
		return CLASS_DIFFERENT;
	if (register_by_libdw(row, frame, frame->numbers->sp, cfa, &sp) != OUTCOME_VALUE)
		sp = cfa;
	/* The CFA of our rules is the caller's sp. */
	if (sp != our_sp)
		return CLASS_DIFFERENT;
	outcome = register_by_libdw(row, frame, frame->numbers->ra, cfa, &value);
	our_outcome = register_by_rule(rule, true, frame, our_sp, &our_value);
	if (outcome != OUTCOME_VALUE || our_outcome != OUTCOME_VALUE || value != our_value)
		return CLASS_DIFFERENT;
	outcome = register_by_libdw(row, frame, frame->numbers->fp, cfa, &value);
	our_outcome = register_by_rule(rule, false, frame, our_sp, &our_value);
	if (our_outcome == OUTCOME_UNDEFINED)
		return outcome == OUTCOME_UNDEFINED ? CLASS_EQUAL : CLASS_FRAME_POINTER;
	if (outcome != OUTCOME_VALUE || value != our_value)
		return CLASS_DIFFERENT;
	/* The kernel restores all registers behind a signal frame; a context has them all. */
	if (rule->cfa == CFA_SIGNAL || rule->cfa == CFA_CONTEXT ||
	    frame->numbers->machine != EM_X86_64)
		return CLASS_EQUAL;
	outcome = register_by_libdw(row, frame, X86_RBX, cfa, &value);
	if (rule->rbx_slot == RBX_LOST)
		return outcome == OUTCOME_UNDEFINED ? CLASS_EQUAL : CLASS_RBX;
	/* If a row does not mention a register, libdw takes rbp as its caller's value, but not rbx. */
	if (!rule->rbx_slot && outcome == OUTCOME_UNDEFINED)
		return CLASS_EQUAL;
	our_value = rule->rbx_slot ? load(frame, cfa - 8 * rule->rbx_slot) :
				     frame->registers[X86_RBX];
	return outcome == OUTCOME_VALUE && value == our_value ? CLASS_EQUAL : CLASS_DIFFERENT;
}

struct comparison {
	const char *path;
	const struct stack_deltas *deltas;
	const struct unwind_input *input;
	const struct frame_registers *numbers;
	const struct tables *tables;
	/* The last address without table that a rule was found for. */
	uint64_t code_address;
	const struct unwind_rule *code_rule;
	uint64_t rows[CLASS_COUNT];
};

static void show_difference(struct comparison *comparison, uint64_t address,
			    const struct unwind_rule *rule, const char *other)
{
	char text[RULE_TEXT_MAX_BYTES] = "no rule";

	if (comparison->rows[CLASS_DIFFERENT] >= SHOWN_DIFFERENCES)
		return;
	if (rule)
		rule_text(rule, comparison->numbers->machine, text);
	printf("# %s: %#" PRIx64 ": %s, but libdw %s\n", comparison->path, address, text, other);
}

static bool has_no_cfa(Dwarf_Frame *row)
{
	Dwarf_Op *operations;
	size_t count;

	return dwarf_frame_cfa(row, &operations, &count);
}

static bool is_in_known_range(const struct comparison *comparison, uint64_t address)
{
	const struct unwind_input *input = comparison->input;

	for (uint32_t i = 0; i < input->known_range_count; i++)
		if (address >= input->known_ranges[i].start && address < input->known_ranges[i].end)
			return true;
	return false;
}

/* One address in a row of libdw's, the worst class of several frames. */
static enum verdict compare_address(struct comparison *comparison, Dwarf_Frame *row,
				    uint64_t address)
{
	const struct unwind_rule *rule = stack_deltas_lookup(comparison->deltas, address);
	enum verdict class = CLASS_DIFFERENT;
	struct frame frame;

	if (rule && rule->cfa != CFA_NONE) {
		class = CLASS_EQUAL;
		for (uint64_t seed = 1; seed <= 2 && class == CLASS_EQUAL; seed++) {
			make_frame(&frame, comparison->numbers, seed, address);
			class = compare_frame(rule, row, &frame);
		}
	}
	if (class == CLASS_DIFFERENT && is_in_known_range(comparison, address))
		class = CLASS_KNOWN_RANGE;
	if (class == CLASS_DIFFERENT && rule && rule->cfa >= CFA_SP && rule->cfa <= CFA_REGISTER &&
	    has_no_cfa(row))
		class = CLASS_NO_CFA;
	if (class == CLASS_DIFFERENT)
		show_difference(comparison, address, rule, "has another rule");
	return class;
}

/*
 * Compares a row of libdw at [start, end): both its ends and every address at which our rules change must agree,
 * and for the PLT, whose rule looks at the pc, every address of a period.
 */
static void compare_row(struct comparison *comparison, Dwarf_Frame *row, uint64_t start,
			uint64_t end)
{
	const struct unwind_rule *last = NULL;
	enum verdict worst = CLASS_EQUAL;

	for (uint64_t address = start; address < end; address++) {
		const struct unwind_rule *rule = stack_deltas_lookup(comparison->deltas, address);
		enum verdict class;

		if (rule == last && address != end - 1 &&
		    !(rule && rule->cfa == CFA_PLT && address - start < PLT_PERIOD))
			continue;
		last = rule;
		class = compare_address(comparison, row, address);
		if (class > worst)
			worst = class;
	}
	comparison->rows[worst]++;
}

/* An address that libdw gives no row for. */
static void compare_nothing(struct comparison *comparison, uint64_t address)
{
	const struct unwind_rule *rule = stack_deltas_lookup(comparison->deltas, address);
	bool is_arm64 = comparison->numbers->machine == EM_AARCH64;
	bool no_match = is_no_match();

	if (!rule || rule->cfa == CFA_NONE)
		return;
	if (no_match && rule->cfa == CFA_END && address >= comparison->input->entry &&
	    address - comparison->input->entry < ENTRY_MAX_BYTES) {
		comparison->rows[CLASS_ENTRY_POINT] += address == comparison->input->entry;
		return;
	}
	for (uint32_t i = 0; no_match && i < comparison->input->stub_count; i++) {
		const struct unwind_segment *stubs = &comparison->input->stubs[i];

		if (rule->cfa != (is_arm64 ? CFA_SP : CFA_PLT) || address < stubs->start ||
		    address >= stubs->end)
			continue;
		comparison->rows[CLASS_STUB] += address == stubs->start;
		return;
	}
	if (no_match && is_in_known_range(comparison, address)) {
		comparison->rows[CLASS_KNOWN_RANGE] += !is_in_known_range(comparison, address - 1);
		return;
	}
	if (!no_match && rule->cfa == CFA_UNSUPPORTED) {
		comparison->rows[CLASS_BOTH_REFUSE]++;
		return;
	}
	if (no_match && bare_code_contains(&comparison->input->code, address)) {
		comparison->rows[CLASS_CODE] += rule != comparison->code_rule ||
						address != comparison->code_address + 1;
		comparison->code_rule = rule;
		comparison->code_address = address;
		return;
	}
	if (no_match && is_behind_terminator(&comparison->tables->debug_frame, address)) {
		comparison->rows[CLASS_BEHIND_TERMINATOR] +=
			rule != comparison->code_rule || address != comparison->code_address + 1;
		comparison->code_rule = rule;
		comparison->code_address = address;
		return;
	}
	show_difference(comparison, address, rule, no_match ? "has none" : "fails");
	comparison->rows[CLASS_DIFFERENT]++;
}

static void compare_segment(struct comparison *comparison, const struct unwind_segment *segment)
{
	for (uint64_t address = segment->start; address < segment->end;) {
		Dwarf_Frame *row;
		Dwarf_Addr start, end;
		bool is_signal;

		if (!find_row(comparison->tables, address, &row)) {
			compare_nothing(comparison, address);
			address++;
			continue;
		}
		dwarf_frame_info(row, &start, &end, &is_signal);
		if (end > segment->end)
			end = segment->end;
		if (end <= address)
			end = address + 1;
		compare_row(comparison, row, address, end);
		free(row);
		address = end;
	}
}

static void result(bool is_good, const char *what, const char *path)
{
	totals.tests++;
	totals.failed += !is_good;
	printf("%s %d - %s %s\n", is_good ? "ok" : "not ok", totals.tests, what, path);
	fflush(stdout);
}

static void compare(const char *path, const struct unwind_input *input,
		    const struct stack_deltas *deltas, const struct tables *tables)
{
	struct comparison comparison = {
		.path = path,
		.deltas = deltas,
		.input = input,
		.numbers = input->machine == EM_X86_64 ? &x86_registers : &arm64_registers,
		.tables = tables,
	};

	for (uint32_t i = 0; i < input->segment_count; i++)
		compare_segment(&comparison, &input->segments[i]);
	totals.files++;
	totals.with_more_tables += input->source_count != 0;
	for (int class = 0; class < CLASS_COUNT; class ++) {
		totals.rows[class] += comparison.rows[class];
		if (class != CLASS_EQUAL && class != CLASS_CODE && comparison.rows[class])
			printf("# %s: %" PRIu64 " rows %s\n", path, comparison.rows[class],
			       class_names[class]);
	}
	result(!comparison.rows[CLASS_DIFFERENT], "every row equals libdw's for", path);
}

/* @search: NULL if there is no debug file for the image. */
static void check_image(const char *path, const struct elf_image *image, Elf *elf,
			const struct debug_file_search *search)
{
	_cleanup_(unwind_input_deinit) struct unwind_input input = { 0 };
	_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };
	_cleanup_(tables_deinit) struct tables tables = { .fd = -1 };
	const struct elf_section *section;
	const Elf64_Ehdr *header = elf64_getehdr(elf);
	int error;

	if ((image->machine != EM_X86_64 && image->machine != EM_AARCH64) || !header ||
	    (header->e_type != ET_EXEC && header->e_type != ET_DYN))
		return;
	error = unwind_input_read(image, &input);
	if (!error && search)
		unwind_input_add_debug_file(&input, image, search);
	if (!error)
		error = extract_deltas(&input, NULL, &deltas, NULL);
	if (!error)
		error = stack_deltas_check(&deltas);
	if (error == -ENOENT) {
		totals.without_tables++;
		return;
	}
	if (error) {
		printf("# %s: %s\n", path, error_text());
		result(false, "deltas can be made of", path);
		return;
	}
	add_tables(&tables, elf, true);
	section = elf_image_find_section(image, ".debug_frame");
	if (section)
		elf_image_load_section(image, section, UNWIND_SOURCE_MAX_BYTES,
				       &tables.debug_frame);
	if (input.is_bare) {
		add_mini_debug(&tables, image);
		if (search)
			add_debug_file(&tables, image, search);
	}
	compare(path, &input, &deltas, &tables);
}

static void check_file(const char *path)
{
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	_cleanup_(free_pointer) char *real_path = realpath(path, NULL);
	const struct debug_file_search search = {
		.proc_root = "/proc",
		.pid = getpid(),
		.path = real_path,
	};
	Elf *elf;

	if (fd < 0 || elf_image_init_fd(&image, fd))
		return;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	check_image(path, &image, elf, &search);
	elf_end(elf);
}

/* The file at @path as it would be without section headers. */
static void check_stripped(const char *path)
{
	_cleanup_(close_file) FILE *file = fopen(path, "r");
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	_cleanup_(free_pointer) char *bytes = NULL;
	struct stat status;
	Elf64_Ehdr header;
	Elf *elf;

	if (!file || fstat(fileno(file), &status))
		return;
	bytes = malloc(status.st_size);
	if (!bytes || fread(bytes, 1, status.st_size, file) != (size_t)status.st_size)
		return;
	memcpy(&header, bytes, sizeof(header));
	header.e_shoff = 0;
	header.e_shnum = header.e_shstrndx = 0;
	memcpy(bytes, &header, sizeof(header));
	if (elf_image_init_memory(&image, bytes, status.st_size))
		return;
	elf = elf_memory(bytes, status.st_size);
	check_image("a copy without section headers", &image, elf, NULL);
	elf_end(elf);
}

static void check_vdso(void)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	size_t size;
	Elf *elf;

	if (!header)
		return;
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	if (elf_image_init_memory(&image, header, size)) {
		printf("# %s\n", error_text());
		result(false, "headers can be read of", "the vDSO");
		return;
	}
	elf = elf_memory((char *)header, size);
	check_image("the vDSO", &image, elf, NULL);
	elf_end(elf);
}

static void check_slice(void)
{
	static const char *const files[] = {
		"/bin/ls",
		"/bin/bash",
		"/bin/busybox",
		"/usr/bin/python3.11",
		"/sbin/ldconfig",
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/proc/self/exe",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		check_file(files[i]);
	check_stripped("/bin/bash");
	check_vdso();
}

/* True if libdw has a result to compare with. */
static bool is_compared(enum verdict class)
{
	return class != CLASS_CODE && class != CLASS_BEHIND_TERMINATOR;
}

int main(int argc, char **argv)
{
	uint64_t all = 0, declared = 0;

	elf_version(EV_CURRENT);
	if (argc == 1)
		check_slice();
	oracle_visit_files(argv + 1, argc - 1, check_file);
	for (int class = 0; class < CLASS_COUNT; class ++)
		all += is_compared(class) ? totals.rows[class] : 0;
	declared = all - totals.rows[CLASS_EQUAL] - totals.rows[CLASS_DIFFERENT];
	printf("# %" PRIu64 " files (%" PRIu64 " with tables beside .eh_frame), %" PRIu64
	       " more without tables and code, %" PRIu64 " rows\n",
	       totals.files, totals.with_more_tables, totals.without_tables, all);
	for (int class = 0; class < CLASS_COUNT; class ++)
		printf("# %12" PRIu64 " rows %8.4f %%  %s\n", totals.rows[class],
		       all ? 100.0 * totals.rows[class] / all : 0, class_names[class]);
	result(totals.files && declared * 1000 < all,
	       "rows that are declared inexpressible:", "under 0.1 %");
	printf("1..%d\n", totals.tests);
	return totals.failed != 0;
}
