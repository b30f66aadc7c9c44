/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis of code against the call frame information of files that have it, in programs that
 * run: at every step, the caller's stack pointer, pc, frame pointer and rbx by our rule are compared
 * with what the tables give, with the registers and the memory that there really are. So rules that
 * have the same meaning by another register or another slot are distinguished from wrong ones.
 *
 * usage: code_steps_test [STEPS PROGRAM [ARGUMENT]...]	(without: some programs, not far)
 *
 * Functions' starts are not known to the analysis. Steps of one instruction are compared a few
 * times only. Rules that are guesses are counted apart. Prints TAP.
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
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "stackdeltas/code/code_analysis.h"
#include "stackdeltas/rule_text.h"
#include "stackdeltas/tests/oracle_frame.h"

enum {
	MAX_RANGES = 8,
	MAX_MODULES = 64,
	VISITS = 4,
	STEPS = 25000,
	SHOWN_DIFFERENCES = 5,
};

struct row {
	uint64_t address;
	struct unwind_rule rule;
};

VECTOR_DEFINE(row_list, struct row)

/* A file that is mapped with its code at [start, end). */
struct module {
	char *path;
	int fd;
	Elf *elf;
	uint64_t start;
	uint64_t end;
	/* From ELF addresses to those of the process. */
	uint64_t bias;
	/* NULL: without tables. */
	Dwarf_CFI *cfi;
	struct code_bytes ranges[MAX_RANGES];
	uint32_t range_count;
	struct row_list rows;
};

/* The data of an instruction. */
struct instruction {
	const struct module *module;
	const struct unwind_rule *rule;
	Dwarf_Frame *row;
	uint32_t visits;
};

struct figures {
	uint64_t steps;
	uint64_t instructions;
	/* By what is compared; [1]: of guesses. */
	uint64_t equal[2];
	uint64_t different[2];
	uint64_t no_rule;
};

struct tracee {
	pid_t pid;
	int memory_fd;
	struct module modules[MAX_MODULES];
	size_t module_count;
	struct hash_map instructions;
	struct figures figures;
};

static int keep_row(void *context, uint64_t address, const struct unwind_rule *rule)
{
	return row_list_push(context, (struct row){ address, *rule });
}

static void read_module(struct module *module, uint64_t offset)
{
	int fd = module->fd = open(module->path, O_RDONLY | O_CLOEXEC);
	Elf *elf = module->elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	const Elf64_Ehdr *header = elf ? elf64_getehdr(elf) : NULL;
	const Elf64_Phdr *segments = header ? elf64_getphdr(elf) : NULL;
	const struct code_row_handler handler = { .context = &module->rows, .row = keep_row };
	struct code_analysis_input input = { .machine = EM_X86_64, .ranges = module->ranges };
	Elf_Scn *section = NULL;

	if (!segments)
		return;
	for (int i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && offset >= segments[i].p_offset &&
		    offset - segments[i].p_offset < segments[i].p_filesz)
			module->bias = module->start -
				       (segments[i].p_vaddr + (offset - segments[i].p_offset));
	while ((section = elf_nextscn(elf, section)) && input.range_count < MAX_RANGES) {
		const Elf64_Shdr *found = elf64_getshdr(section);
		const Elf_Data *data = elf_rawdata(section, NULL);

		if (found->sh_type == SHT_PROGBITS && found->sh_flags & SHF_EXECINSTR && data)
			module->ranges[input.range_count++] =
				(struct code_bytes){ found->sh_addr, data->d_buf, data->d_size };
	}
	input.entry = header->e_type == ET_EXEC || header->e_entry ? header->e_entry : 0;
	if (!code_analysis_run(&input, &handler, NULL))
		module->cfi = dwarf_getcfi_elf(elf);
}

static const struct module *find_module(struct tracee *tracee, uint64_t pc)
{
	_cleanup_(close_file) FILE *maps = NULL;
	struct module *module = &tracee->modules[tracee->module_count];
	char line[4096], path[4096];
	uint64_t offset = 0;

	for (size_t i = 0; i < tracee->module_count; i++)
		if (pc >= tracee->modules[i].start && pc < tracee->modules[i].end)
			return &tracee->modules[i];
	if (tracee->module_count == MAX_MODULES)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/maps", tracee->pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %4095s",
			   &module->start, &module->end, &offset, path) != 4 ||
		    pc < module->start || pc >= module->end)
			continue;
		module->path = strdup(path);
		read_module(module, offset);
		tracee->module_count++;
		return module;
	}
	return NULL;
}

/* Drops the data of a program that has been replaced or has ended. */
static void forget_program(struct tracee *tracee)
{
	uint64_t key, value;
	size_t cursor = 0;

	while (hash_map_next(&tracee->instructions, &cursor, &key, &value)) {
		struct instruction *instruction = hash_map_get_pointer(&tracee->instructions, key);

		free(instruction->row);
		free(instruction);
	}
	hash_map_deinit(&tracee->instructions);
	for (size_t i = 0; i < tracee->module_count; i++) {
		struct module *module = &tracee->modules[i];

		if (module->cfi)
			dwarf_cfi_end(module->cfi);
		elf_end(module->elf);
		if (module->fd >= 0)
			close(module->fd);
		row_list_deinit(&module->rows);
		free(module->path);
	}
	memset(tracee->modules, 0, sizeof(tracee->modules));
	tracee->module_count = 0;
	if (tracee->memory_fd >= 0)
		close(tracee->memory_fd);
	tracee->memory_fd = -1;
}

/* After an exec: an open /proc/PID/mem stays that of the program before, whose memory is gone. */
static bool begin_program(struct tracee *tracee)
{
	char path[64];

	forget_program(tracee);
	snprintf(path, sizeof(path), "/proc/%d/mem", tracee->pid);
	tracee->memory_fd = open(path, O_RDONLY | O_CLOEXEC);
	return tracee->memory_fd >= 0;
}

static const struct unwind_rule *find_rule(const struct module *module, uint64_t address)
{
	size_t low = 0, high = module->rows.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (module->rows.items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &module->rows.items[low - 1].rule : NULL;
}

static struct instruction *find_instruction(struct tracee *tracee, uint64_t pc)
{
	struct instruction *instruction = hash_map_get_pointer(&tracee->instructions, pc);
	const struct module *module;

	if (instruction)
		return instruction;
	instruction = calloc(1, sizeof(*instruction));
	module = find_module(tracee, pc);
	if (!instruction || hash_map_set_pointer(&tracee->instructions, pc, instruction))
		return NULL;
	instruction->module = module;
	if (!module || !module->cfi ||
	    dwarf_cfi_addrframe(module->cfi, pc - module->bias, &instruction->row))
		instruction->row = NULL;
	instruction->rule = instruction->row ? find_rule(module, pc - module->bias) : NULL;
	return instruction;
}

/* The caller's rbx; the table leaves out what is unchanged. */
static bool same_rbx(const struct unwind_rule *rule, Dwarf_Frame *row, const struct frame *frame,
		     uint64_t cfa)
{
	uint64_t ours = frame->registers[X86_RBX], theirs;

	if (rule->rbx_slot == RBX_LOST)
		return true;
	if (rule->rbx_slot)
		ours = load(frame, cfa - 8 * rule->rbx_slot);
	if (register_by_libdw(row, frame, X86_RBX, cfa, &theirs) != OUTCOME_VALUE)
		theirs = frame->registers[X86_RBX];
	return ours == theirs;
}

/* False: they differ. */
static bool compare(const struct instruction *instruction, const struct frame *frame)
{
	const struct unwind_rule *rule = instruction->rule;
	uint64_t cfa, our_cfa, ours = 0, theirs = 0;
	Dwarf_Op *operations;
	size_t count;
	bool is_value;

	if (register_by_libdw(instruction->row, frame, frame->numbers->ra, 0, &theirs) ==
	    OUTCOME_UNDEFINED)
		return rule->cfa == CFA_END;
	if (dwarf_frame_cfa(instruction->row, &operations, &count) ||
	    !evaluate(frame, operations, count, 0, false, &cfa, &is_value) ||
	    !sp_by_rule(rule, frame, &our_cfa) || cfa != our_cfa)
		return false;
	register_by_libdw(instruction->row, frame, frame->numbers->ra, cfa, &theirs);
	/* Memory that can't be read is 0 for both: nothing would be compared. */
	if (!theirs)
		return false;
	if (register_by_rule(rule, true, frame, cfa, &ours) != OUTCOME_VALUE || ours != theirs)
		return false;
	if (register_by_rule(rule, false, frame, cfa, &ours) == OUTCOME_VALUE &&
	    register_by_libdw(instruction->row, frame, frame->numbers->fp, cfa, &theirs) ==
		    OUTCOME_VALUE &&
	    ours != theirs)
		return false;
	return same_rbx(rule, instruction->row, frame, cfa);
}

static void check_step(struct tracee *tracee, const struct user_regs_struct *words)
{
	struct instruction *instruction = find_instruction(tracee, words->rip);
	struct figures *figures = &tracee->figures;
	struct frame frame = {
		.numbers = &x86_registers,
		.memory_fd = tracee->memory_fd,
		.pc = words->rip,
		.registers = { words->rax, words->rdx, words->rcx, words->rbx, words->rsi,
			       words->rdi, words->rbp, words->rsp, words->r8, words->r9, words->r10,
			       words->r11, words->r12, words->r13, words->r14, words->r15,
			       words->rip },
	};
	char text[RULE_TEXT_MAX_BYTES];
	bool is_guess, is_equal;

	if (!instruction || !instruction->rule || instruction->visits++ >= VISITS)
		return;
	figures->instructions += instruction->visits == 1;
	if (instruction->rule->cfa == CFA_NONE) {
		figures->no_rule++;
		return;
	}
	is_guess = instruction->rule->flags & RULE_GUESS;
	is_equal = compare(instruction, &frame);
	if (is_equal)
		figures->equal[is_guess]++;
	else
		figures->different[is_guess]++;
	if (is_equal || is_guess || figures->different[0] > SHOWN_DIFFERENCES)
		return;
	rule_text(instruction->rule, EM_X86_64, text);
	printf("# %s: %#" PRIx64 ": %s\n", instruction->module->path,
	       (uint64_t)words->rip - instruction->module->bias, text);
}

static void run_steps(struct tracee *tracee, uint64_t count)
{
	struct user_regs_struct words;
	long signal = 0;
	int status;

	while (tracee->figures.steps++ < count) {
		if (ptrace(PTRACE_GETREGS, tracee->pid, NULL, &words))
			return;
		check_step(tracee, &words);
		if (ptrace(PTRACE_SINGLESTEP, tracee->pid, NULL, signal) ||
		    waitpid(tracee->pid, &status, 0) < 0 || !WIFSTOPPED(status))
			return;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8) && !begin_program(tracee))
			return;
		signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	}
	kill(tracee->pid, SIGKILL);
	waitpid(tracee->pid, &status, 0);
}

static pid_t start(char *const *arguments)
{
	pid_t pid = fork();
	int status, null_fd;

	if (pid) {
		if (pid > 0)
			waitpid(pid, &status, 0);
		return pid;
	}
	null_fd = open("/dev/null", O_RDWR);
	dup2(null_fd, STDIN_FILENO);
	dup2(null_fd, STDOUT_FILENO);
	dup2(null_fd, STDERR_FILENO);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execvp(arguments[0], arguments);
	_exit(127);
}

static void check_program(uint64_t steps, char *const *arguments, struct figures *totals)
{
	struct tracee tracee = { .pid = start(arguments), .memory_fd = -1 };
	struct figures *figures = &tracee.figures;

	if (tracee.pid < 0 || !begin_program(&tracee))
		return;
	ptrace(PTRACE_SETOPTIONS, tracee.pid, NULL, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
	run_steps(&tracee, steps);
	printf("# %s: %" PRIu64 " steps, %" PRIu64 " instructions; believed: %" PRIu64
	       " equal, %" PRIu64 " different; guesses: %" PRIu64 " equal, %" PRIu64
	       " different; %" PRIu64 " without rule\n",
	       arguments[0], figures->steps, figures->instructions, figures->equal[0],
	       figures->different[0], figures->equal[1], figures->different[1], figures->no_rule);
	totals->steps += figures->steps;
	totals->equal[0] += figures->equal[0];
	totals->different[0] += figures->different[0];
	forget_program(&tracee);
}

int main(int argc, char **argv)
{
	char *const programs[][4] = {
		{ "ls", "-l", "/usr", NULL },
		{ "bash", "-c", "for i in 1 2 3; do echo $((i * i)); done", NULL },
		{ "python3", "-c", "print(sorted(str(i) for i in range(99)))", NULL },
		{ "perl", "-e", "print join(',', map { $_ * 2 } 1 .. 99)", NULL },
	};
	struct figures totals = { 0 };
	bool is_good;

	elf_version(EV_CURRENT);
	if (argc > 2)
		check_program(strtoull(argv[1], NULL, 10), argv + 2, &totals);
	for (size_t i = 0; argc <= 2 && i < sizeof(programs) / sizeof(programs[0]); i++)
		check_program(STEPS, programs[i], &totals);
	is_good = totals.equal[0] > 0 && !totals.different[0];
	printf("# %" PRIu64 " steps, %" PRIu64 " comparisons of what is believed, %" PRIu64
	       " differ\n",
	       totals.steps, totals.equal[0] + totals.different[0], totals.different[0]);
	printf("%s 1 - nothing of what is believed differs in programs that run\n",
	       is_good ? "ok" : "not ok");
	printf("1..1\n");
	return !is_good;
}
