/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build/stack_deltas [-rows|-stats|-unsupported|-bench] FILE...
 *
 * Prints what the agent makes of the unwind tables of ELF files:
 *	-rows		every row: ELF virtual address and rule (the default)
 *	-stats		counts per file: FDEs, rows, rules, bytes, problems
 *	-unsupported	every problem by file and address
 *	-bench		extraction speed in MB of .eh_frame per second, and bytes per row
 *
 * Exit status: 0, 1 if a file could not be read (others are still done), 2 wrong usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "agent/host/elf_image.h"
#include "stackdeltas/extract_deltas.h"
#include "stackdeltas/rule_text.h"

enum {
	/* A file is extracted again and again for at least this long. */
	BENCH_MIN_MS = 500,
	BENCH_MIN_RUNS = 3,
};

struct file {
	const char *path;
	struct unwind_input input;
};

typedef int action_function(struct file *file);

static uint64_t row_page(const struct stack_deltas *deltas, uint32_t *page, uint32_t row)
{
	while (deltas->page_index[*page + 1] <= row)
		(*page)++;
	return deltas->text_start + (uint64_t)*page * UNWIND_PAGE_BYTES;
}

static int print_rows(struct file *file)
{
	_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };
	uint32_t page = 0;
	int error = extract_deltas(&file->input, NULL, &deltas, NULL);

	if (error)
		return error;
	for (uint32_t row = 0; row < deltas.row_count; row++) {
		uint64_t address =
			row_page(&deltas, &page, row) + deltas.rows[row] % UNWIND_PAGE_BYTES;
		char text[RULE_TEXT_MAX_BYTES];

		rule_text(&deltas.rules[deltas.rows[row] >> UNWIND_ROW_RULE_SHIFT],
			  file->input.machine, text);
		printf("%#" PRIx64 ": %s\n", address, text);
	}
	return 0;
}

static void print_problems(const struct delta_statistics *statistics)
{
	for (int i = 1; i < DELTA_PROBLEM_COUNT; i++)
		if (statistics->problems[i])
			printf("  %8u  %s\n", statistics->problems[i], delta_problem_text(i));
}

static int print_statistics(struct file *file)
{
	_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };
	struct delta_statistics statistics;
	struct hash128 key = unwind_input_key(&file->input);
	int error = extract_deltas(&file->input, NULL, &deltas, &statistics);

	if (error)
		return error;
	printf("%s: %zu bytes of .eh_frame, %u CIEs, %u FDEs (%u empty), %u rows, %u rules, "
	       "%u pages, %u cells, key %016" PRIx64 "%016" PRIx64 "\n",
	       file->path, file->input.eh_frame_bytes, statistics.cie_count, statistics.fde_count,
	       statistics.empty_fde_count, deltas.row_count, deltas.rule_count, deltas.page_count,
	       stack_deltas_cell_count(&deltas), key.high, key.low);
	print_problems(&statistics);
	return 0;
}

static void print_problem(void *context, uint64_t address, enum delta_problem problem)
{
	const struct file *file = context;

	printf("%s: %#" PRIx64 ": %s\n", file->path, address, delta_problem_text(problem));
}

static int print_unsupported(struct file *file)
{
	_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };
	const struct delta_observer observer = { file, print_problem };

	return extract_deltas(&file->input, &observer, &deltas, NULL);
}

/* Time of this thread alone, so that a busy machine does not make us slow. */
static uint64_t cpu_time_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

static int bench(struct file *file)
{
	uint64_t started_ns = cpu_time_ns(), spent_ns = 0, best_ns = UINT64_MAX;
	uint32_t row_count = 0, rule_count = 0;

	for (int run = 0; run < BENCH_MIN_RUNS || spent_ns < BENCH_MIN_MS * NS_PER_MS; run++) {
		_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };
		uint64_t start_ns = cpu_time_ns();
		int error = extract_deltas(&file->input, NULL, &deltas, NULL);
		uint64_t end_ns = cpu_time_ns();

		if (error)
			return error;
		if (end_ns - start_ns < best_ns)
			best_ns = end_ns - start_ns;
		spent_ns = end_ns - started_ns;
		row_count = deltas.row_count;
		rule_count = deltas.rule_count;
	}
	printf("%s: %.0f MB/s of .eh_frame, %.2f bytes per row (%u rows, %u rules)\n", file->path,
	       (double)file->input.eh_frame_bytes * 1000 / best_ns,
	       (row_count * (double)sizeof(uint32_t) +
		rule_count * (double)sizeof(struct unwind_rule)) /
		       row_count,
	       row_count, rule_count);
	return 0;
}

static int do_file(const char *path, action_function *action)
{
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	struct file file = { .path = path };
	int error;

	if (fd < 0)
		return fail_errno(-errno, "open");
	error = elf_image_init_fd(&image, fd);
	if (!error)
		error = unwind_input_read(&image, &file.input);
	if (!error)
		error = action(&file);
	unwind_input_deinit(&file.input);
	return error;
}

static action_function *find_action(const char *option)
{
	static const struct {
		const char *name;
		action_function *action;
	} actions[] = {
		{ "-rows", print_rows },
		{ "-stats", print_statistics },
		{ "-unsupported", print_unsupported },
		{ "-bench", bench },
	};

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(option, actions[i].name))
			return actions[i].action;
	return NULL;
}

int main(int argc, char **argv)
{
	action_function *action = print_rows;
	int first = 1, status = 0;

	if (argc > 1 && argv[1][0] == '-') {
		action = find_action(argv[1]);
		first = 2;
	}
	if (!action || first >= argc) {
		fprintf(stderr, "usage: stack_deltas [-rows|-stats|-unsupported|-bench] FILE...\n");
		return 2;
	}
	for (int i = first; i < argc; i++) {
		if (do_file(argv[i], action)) {
			fprintf(stderr, "stack_deltas: %s: %s\n", argv[i], error_text());
			status = 1;
		}
	}
	return status;
}
