/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build/stack_deltas [-rows|-stats|-unsupported|-bench|-cache] FILE|DIRECTORY...
 *
 * Prints what the agent makes of the unwind tables and the code of ELF files:
 *	-rows		every row: ELF virtual address and rule (the default)
 *	-stats		counts per file: FDEs, rows, rules, bytes, problems
 *	-unsupported	every problem by file and address, such as expressions that are not understood
 *	-bench		extraction speed in MB of .eh_frame, and of code without, per second; bytes per
 *			row
 *	-cache		CPU time for the rows of all files, made anew and from a disk cache
 * With -stats, -cache and -unsupported, the totals of all files come last. Directories are searched
 * for ELF files of this kind of machine, without following links.
 *
 * Exit status: 0, 1 if a file could not be read (others are still done), 2 wrong usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/elf/debug_file.h"
#include "lib/elf/elf_image.h"
#include "stackdeltas/delta_cache.h"
#include "stackdeltas/extract_deltas.h"
#include "stackdeltas/rule_text.h"

enum {
	/* A file is extracted again and again for at least this long. */
	BENCH_MIN_MS = 500,
	BENCH_MIN_RUNS = 3,
	OPEN_DIRECTORIES = 32,
	CACHE_MAX_BYTES = 1 << 30,
};

struct file {
	const char *path;
	struct unwind_input input;
};

typedef int action_function(struct file *file);

static struct {
	uint64_t files;
	uint64_t failed;
	uint64_t without_rows;
	uint64_t row_count;
	struct delta_statistics statistics;
} totals;

/* Results of -cache. */
static struct {
	char directory[32];
	struct delta_cache *cache;
	uint64_t read_ns;
	uint64_t made_ns;
	uint64_t cached_ns;
} cache_gain = { .directory = "/tmp/stack_deltas-XXXXXX" };

/* The action for every file that is found. */
static action_function *chosen_action;

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
			row_page(&deltas, &page, row) + stack_deltas_offsets(&deltas)[row];
		char text[RULE_TEXT_MAX_BYTES];

		rule_text(&deltas.rules[stack_deltas_rule_ids(&deltas)[row]], file->input.machine,
			  text);
		printf("%#" PRIx64 ": %s\n", address, text);
	}
	return 0;
}

static void print_details(const struct delta_statistics *statistics)
{
	const struct code_analysis_statistics *code = &statistics->code;
	uint64_t bytes = code->believed_bytes + code->guessed_bytes + code->unknown_bytes;

	if (bytes)
		printf("  %8" PRIu64 "  bytes of code without table: %" PRIu64 " believed, %" PRIu64
		       " guessed, %" PRIu64 " unknown; %u of %u functions believed\n",
		       bytes, code->believed_bytes, code->guessed_bytes, code->unknown_bytes,
		       code->believed_count, code->function_count);
	for (int i = 1; i < DELTA_PROBLEM_COUNT; i++)
		if (statistics->problems[i])
			printf("  %8u  %s\n", statistics->problems[i], delta_problem_text(i));
}

static void add_totals(const struct stack_deltas *deltas, const struct delta_statistics *statistics)
{
	struct delta_statistics *all = &totals.statistics;

	totals.files++;
	totals.row_count += deltas->row_count;
	all->cie_count += statistics->cie_count;
	all->fde_count += statistics->fde_count;
	all->empty_fde_count += statistics->empty_fde_count;
	all->code.function_count += statistics->code.function_count;
	all->code.believed_count += statistics->code.believed_count;
	all->code.believed_bytes += statistics->code.believed_bytes;
	all->code.guessed_bytes += statistics->code.guessed_bytes;
	all->code.unknown_bytes += statistics->code.unknown_bytes;
	for (int i = 0; i < DELTA_PROBLEM_COUNT; i++)
		all->problems[i] += statistics->problems[i];
}

static void print_totals(void)
{
	printf("total: %" PRIu64 " files (%" PRIu64 " more without rows, %" PRIu64
	       " that failed), %u FDEs, %" PRIu64 " rows\n",
	       totals.files, totals.without_rows, totals.failed, totals.statistics.fde_count,
	       totals.row_count);
	print_details(&totals.statistics);
}

static int print_statistics(struct file *file)
{
	_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };
	const struct bare_code *code = &file->input.code;
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
	if (code->searched_bytes)
		printf("  %8" PRIu64
		       "  bytes of code with tables searched for calls of code without: "
		       "%" PRIu64 " decoded\n",
		       code->searched_bytes, code->decoded_bytes);
	print_details(&statistics);
	add_totals(&deltas, &statistics);
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
	struct delta_statistics statistics;
	int error = extract_deltas(&file->input, &observer, &deltas, &statistics);

	if (!error)
		add_totals(&deltas, &statistics);
	return error;
}

/* Time of this thread alone, so that a busy machine does not make us slow. */
static uint64_t cpu_time_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

/* Measures the best time of extracting @input, and sets the counts of its rows and rules. */
static int time_extraction(const struct unwind_input *input, uint64_t *best_ns,
			   struct stack_deltas *counts, struct delta_statistics *statistics)
{
	uint64_t started_ns = cpu_time_ns(), spent_ns = 0;

	*best_ns = UINT64_MAX;
	for (int run = 0; run < BENCH_MIN_RUNS || spent_ns < BENCH_MIN_MS * NS_PER_MS; run++) {
		_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };
		uint64_t start_ns = cpu_time_ns();
		int error = extract_deltas(input, NULL, &deltas, statistics);
		uint64_t end_ns = cpu_time_ns();

		if (error)
			return error;
		if (end_ns - start_ns < *best_ns)
			*best_ns = end_ns - start_ns;
		spent_ns = end_ns - started_ns;
		counts->row_count = deltas.row_count;
		counts->rule_count = deltas.rule_count;
	}
	return 0;
}

/* Measures the tables alone, then the additional time for the code that they do not cover. */
static int bench(struct file *file)
{
	struct unwind_input all = file->input, tables;
	struct delta_statistics statistics;
	struct stack_deltas counts = { 0 };
	uint64_t tables_ns, all_ns, code_bytes;
	int error;

	/* Reading the FDEs is part of the work. */
	all.fdes = NULL;
	tables = all;
	tables.source_count = 0;
	memset(&tables.code, 0, sizeof(tables.code));
	if (tables.eh_frame_bytes) {
		error = time_extraction(&tables, &tables_ns, &counts, &statistics);
		if (error)
			return error;
		printf("%s: %.0f MB/s of .eh_frame, %.2f bytes per row (%u rows, %u rules)\n",
		       file->path, (double)tables.eh_frame_bytes * 1000 / tables_ns,
		       (stack_deltas_row_bytes(counts.row_count) +
			counts.rule_count * (double)sizeof(struct unwind_rule)) /
			       counts.row_count,
		       counts.row_count, counts.rule_count);
	} else {
		tables_ns = 0;
	}
	error = time_extraction(&all, &all_ns, &counts, &statistics);
	if (error)
		return error;
	code_bytes = statistics.code.believed_bytes + statistics.code.guessed_bytes +
		     statistics.code.unknown_bytes;
	if (code_bytes > UNWIND_INPUT_BARE_BYTES && all_ns > tables_ns)
		printf("%s: %.0f MB/s of code without tables (%" PRIu64 " bytes)\n", file->path,
		       (double)code_bytes * 1000 / (all_ns - tables_ns), code_bytes);
	return 0;
}

/*
 * The first time, when the file is not in the cache yet, makes the rows; the second time loads them.
 * The bytes of the tables, which both need, have been read before.
 */
static int measure_cache(struct file *file)
{
	for (int round = 0; round < 2; round++) {
		_cleanup_(stack_deltas_deinit) struct stack_deltas made = { 0 }, kept = { 0 };
		uint64_t start_ns = cpu_time_ns(), made_ns;
		int error = round ? 0 : extract_deltas(&file->input, NULL, &made, NULL);

		if (error)
			return error;
		made_ns = cpu_time_ns();
		error = delta_cache_get(cache_gain.cache, &file->input, &kept);
		if (error)
			return error;
		if (round) {
			cache_gain.cached_ns += cpu_time_ns() - made_ns;
			totals.row_count += kept.row_count;
		} else {
			cache_gain.made_ns += made_ns - start_ns;
		}
	}
	totals.files++;
	return 0;
}

static int open_cache(void)
{
	if (!mkdtemp(cache_gain.directory))
		return fail_errno(-errno, "%s", cache_gain.directory);
	return delta_cache_create(cache_gain.directory, CACHE_MAX_BYTES, &cache_gain.cache);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

static void close_cache(void)
{
	delta_cache_destroy(cache_gain.cache);
	nftw(cache_gain.directory, remove_entry, OPEN_DIRECTORIES, FTW_PHYS | FTW_DEPTH);
	printf("total: %" PRIu64 " files, %" PRIu64 " rows, %.2f s of CPU to read their tables, "
	       "%.2f s to make the rows, %.2f s to load them from the disk cache\n",
	       totals.files, totals.row_count, (double)cache_gain.read_ns / NS_PER_SECOND,
	       (double)cache_gain.made_ns / NS_PER_SECOND,
	       (double)cache_gain.cached_ns / NS_PER_SECOND);
}

static int do_open_file(int fd, const char *path)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	_cleanup_(free_pointer) char *real_path = realpath(path, NULL);
	const struct debug_file_search search = {
		.proc_root = "/proc",
		.pid = getpid(),
		.path = real_path,
	};
	struct file file = { .path = path };
	uint64_t start_ns = cpu_time_ns();
	int error = elf_image_init_fd(&image, fd);

	if (!error)
		error = unwind_input_read(&image, &file.input);
	if (!error) {
		unwind_input_add_debug_file(&file.input, &image, &search);
		cache_gain.read_ns += cpu_time_ns() - start_ns;
		error = chosen_action(&file);
	}
	unwind_input_deinit(&file.input);
	return error;
}

static int do_file(const char *path)
{
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? fail_errno(-errno, "open") : do_open_file(fd, path);
}

static void tell(const char *path)
{
	totals.failed++;
	fprintf(stderr, "stack_deltas: %s: %s\n", path, error_text());
}

/* Most files in a directory are no ELF files, and some have no code. */
static int visit(const char *path, const struct stat *status, int type, struct FTW *where)
{
	int error = 0;

	(void)where;
	if (type == FTW_F && S_ISREG(status->st_mode) && status->st_size)
		error = do_file(path);
	totals.without_rows += error == -ENOENT;
	if (error && error != -EOPNOTSUPP && error != -ENOENT)
		tell(path);
	return 0;
}

static void do_argument(const char *path)
{
	struct stat status;

	if (!stat(path, &status) && S_ISDIR(status.st_mode))
		nftw(path, visit, OPEN_DIRECTORIES, FTW_PHYS);
	else if (do_file(path))
		tell(path);
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
		{ "-cache", measure_cache },
	};

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(option, actions[i].name))
			return actions[i].action;
	return NULL;
}

int main(int argc, char **argv)
{
	int first = 1;

	chosen_action = print_rows;
	if (argc > 1 && argv[1][0] == '-') {
		chosen_action = find_action(argv[1]);
		first = 2;
	}
	if (!chosen_action || first >= argc) {
		fprintf(stderr, "usage: stack_deltas [-rows|-stats|-unsupported|-bench|-cache] "
				"FILE|DIRECTORY...\n");
		return 2;
	}
	if (chosen_action == measure_cache && open_cache()) {
		fprintf(stderr, "stack_deltas: %s\n", error_text());
		return 1;
	}
	for (int i = first; i < argc; i++)
		do_argument(argv[i]);
	if (chosen_action == measure_cache)
		close_cache();
	if (chosen_action == print_unsupported || chosen_action == print_statistics)
		print_totals();
	return totals.failed != 0;
}
