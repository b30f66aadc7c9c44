/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build/symbols [-a] [-f] [-i] [-C] [-symtab] [-limited] [-here] [-o CACHEFILE] FILE [ADDR...|-]
 * build/symbols -stats|-bench FILE...
 *
 * Prints a report about an ELF file: its ids, its debug file, the sources of its names, and the
 * cost of reading them. With hexadecimal addresses it prints the functions and lines at them, like
 * addr2line; `-` reads the addresses from stdin, one a line. For a Go file without debug data it
 * uses Go's own table.
 *	-a		the address, in a line before them
 *	-f		functions, each in a line before its file and line
 *	-i		inlined functions, innermost first; without -i only the innermost
 *	-C		demangled names
 *	-symtab		symbols only, no DWARF
 *	-limited	limits memory and CPU time of the file as the agent does
 *	-here		reads the file in this process, not in a separate one with limits: for debuggers
 *	-o CACHEFILE	stores the symbol cache
 *	-stats		prints only the symbol cache's seconds, memory and bytes, and its rows
 *	-bench		also prints nanoseconds per look-up of a random address, and of one of 1,000
 *
 * Prints on stderr if a file has no data about its code, for example because its tables are truncated, and the
 * reason why DWARF was not read, or not completely.
 *
 * Exit status: 0, 1 if a file could not be read, 2 wrong usage.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/elf/go_frames.h"
#include "symbols/build/symbol_cache_maker.h"
#include "symbols/demangle.h"
#include "symbols/dwarf/dwarf_problem.h"
#include "symbols/file_report.h"

enum {
	FRAMES_MAX = SYMBOL_CACHE_MAX_DEPTH,
	BENCH_LOOKUPS = 1000000,
	/* As many addresses as a profile has of one file. */
	BENCH_SAME_ADDRESSES = 1000,
	LINE_BYTES = 64,
	CPU_MAX_S = 3600,
};

#define MEMORY_MAX_BYTES (4ULL << 30)

static struct {
	bool addresses;
	bool functions;
	bool inlines;
	bool demangled;
	bool symtab;
	bool limited;
	bool here;
	bool stats;
	bool bench;
	const char *output;
} options;

/* A finished symbol cache, mapped. */
struct made {
	uint8_t *bytes;
	size_t size;
	struct symbol_cache cache;
	uint64_t made_ns;
	uint64_t cpu_ns;
};

static void made_deinit(struct made *made)
{
	if (made->bytes)
		munmap(made->bytes, made->size);
}

/* The file itself, for data that no symbol cache has. */
struct source {
	int fd;
	struct elf_image image;
	/* Used if no DWARF was read. */
	bool has_go;
	struct go_table go;
	struct go_frames frames;
};

static void source_deinit(struct source *source)
{
	go_frames_deinit(&source->frames);
	if (source->has_go)
		go_table_deinit(&source->go);
	elf_image_deinit(&source->image);
	close_fd(&source->fd);
}

/* Opens the output: the user's file, or an unnamed one. */
static int open_output(void)
{
	int fd;

	if (options.output)
		fd = open(options.output, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	else
		fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	return fd < 0 ? fail_errno(-errno, "%s", options.output ? options.output : "/tmp") : fd;
}

static int write_cache_here(int input, const struct debug_file_search *search,
			    enum symbol_depth depth, int fd)
{
	_cleanup_(symbol_cache_writer_deinit) struct symbol_cache_writer writer = { 0 };
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	int err = elf_image_init_fd(&image, input);

	if (!err)
		err = make_symbol_cache(&image, search, depth, &writer);
	return err ? err : symbol_cache_writer_finish(&writer, (struct hash128){ 0 }, fd);
}

/* -1: there is none. */
static int open_debug_file(int input, const struct debug_file_search *search)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	int fd;

	return elf_image_init_fd(&image, input) || debug_file_open(search, &image, &fd) ? -1 : fd;
}

static int write_cache(const char *path, int fd)
{
	static const struct symbol_cache_maker_limits limits = {
		.cpu_ns = CPU_MAX_S * NS_PER_SECOND,
		.memory_bytes = MEMORY_MAX_BYTES,
		.output_bytes = MEMORY_MAX_BYTES,
	};
	static const struct symbol_cache_maker_limits agent_limits = {
		.cpu_ns = SYMBOL_CACHE_MAKER_CPU_NS,
		.memory_bytes = SYMBOL_CACHE_MAKER_MEMORY_BYTES,
		.output_bytes = SYMBOL_CACHE_MAKER_OUTPUT_BYTES,
	};
	/* Non-blocking: the path may be a pipe to which nobody ever writes. */
	_cleanup_(close_fd) int input = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_(close_fd) int debug = -1;
	_cleanup_(free_pointer) char *real_path = realpath(path, NULL);
	struct symbol_cache_maker_files files;
	struct debug_file_search search = { .proc_root = "/proc",
					    .pid = getpid(),
					    .path = real_path };
	enum symbol_depth depth = options.symtab ? SYMBOL_DEPTH_SYMBOLS : SYMBOL_DEPTH_FULL;

	if (input < 0 || !real_path)
		return fail_errno(-errno, "cannot open it");
	if (options.here)
		return write_cache_here(input, &search, depth, fd);
	debug = open_debug_file(input, &search);
	files = (struct symbol_cache_maker_files){ .elf = input, .debug = debug, .output = fd };
	return symbol_cache_maker_run(&files, &search, depth, (struct hash128){ 0 },
				      options.limited ? &agent_limits : &limits, NULL);
}

/* CPU time of this process and of its ended children. */
static uint64_t used_cpu_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return clock_thread_cpu_ns() +
	       (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SECOND +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static int make(const char *path, struct made *made)
{
	uint64_t begin_ns = clock_monotonic_ns(), begin_cpu_ns = used_cpu_ns();
	_cleanup_(close_fd) int fd = open_output();
	struct stat status;
	int err;

	if (fd < 0)
		return fd;
	err = write_cache(path, fd);
	if (err)
		return err;
	if (fstat(fd, &status) || !status.st_size)
		return fail(-EIO, "no symbol cache was written");
	made->made_ns = clock_monotonic_ns() - begin_ns;
	made->cpu_ns = used_cpu_ns() - begin_cpu_ns;
	made->bytes = mmap(NULL, status.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (made->bytes == MAP_FAILED) {
		made->bytes = NULL;
		return fail_errno(-errno, "symbol cache");
	}
	made->size = status.st_size;
	return symbol_cache_init(&made->cache, made->bytes, made->size);
}

/* --- addresses --- */

static void print_name(const char *name)
{
	static struct text_builder text;

	if (!name)
		puts("??");
	else if (options.demangled && demangle(name, &text))
		puts(text_builder_text(&text));
	else
		puts(name);
}

static void print_frame(const struct symbol_frame *frame)
{
	if (options.functions)
		print_name(frame->function);
	if (frame->line)
		printf("%s:%u\n", frame->file ? frame->file : "??", frame->line);
	else
		printf("%s:?\n", frame->file ? frame->file : "??");
}

/* Looks up in Go's table. */
static uint32_t find_go_frames(struct source *source, uint64_t address,
			       struct symbol_frame frames[FRAMES_MAX])
{
	const struct go_frame_vector *found = &source->frames.frames;
	uint32_t count = 0;

	if (!source->has_go || go_frames_find(&source->frames, &source->go, address))
		return 0;
	for (size_t i = 0; i < found->count && count < FRAMES_MAX; i++) {
		const struct go_frame *frame = &found->items[i];

		if (!frame->is_left_out)
			frames[count++] = (struct symbol_frame){
				.function = go_frames_function(&source->frames, frame),
				.file = go_frames_file(&source->frames, frame),
				.line = frame->line > 0 ? (uint32_t)frame->line : 0,
			};
	}
	return count;
}

static void print_address(const struct symbol_cache *cache, struct source *source, const char *text)
{
	struct symbol_frame frames[FRAMES_MAX];
	uint64_t address = strtoull(text, NULL, 16);
	uint32_t count = find_go_frames(source, address, frames);

	if (!count)
		count = symbol_cache_lookup(cache, address, frames, FRAMES_MAX);
	if (options.addresses)
		printf("0x%016" PRIx64 "\n", address);
	if (!count) {
		if (options.functions)
			puts("??");
		puts("??:0");
	}
	for (uint32_t i = 0; i < count && (!i || options.inlines); i++)
		print_frame(&frames[i]);
}

static void print_addresses(const struct symbol_cache *cache, struct source *source, char **texts)
{
	_cleanup_(free_pointer) char *line = NULL;
	size_t capacity = 0;

	for (; *texts; texts++) {
		if (strcmp(*texts, "-")) {
			print_address(cache, source, *texts);
			continue;
		}
		while (getline(&line, &capacity, stdin) > 0)
			print_address(cache, source, line);
	}
}

/* --- costs --- */

/*
 * Nanoseconds per look-up of @count random addresses, which are looked up repeatedly; also sets the
 * average number of frames.
 */
static double look_up(const struct symbol_cache *cache, uint32_t count, double *frames_each)
{
	const struct symbol_blocks *blocks = &cache->blocks;
	uint64_t span = address_index_at(&blocks->index, blocks->count - 1) + 1ULL;
	uint64_t begin_ns = clock_thread_cpu_ns(), state = 1, frame_count = 0;
	struct symbol_frame frames[FRAMES_MAX];

	for (uint32_t i = 0; i < BENCH_LOOKUPS; i++) {
		if (i % count == 0)
			state = 1;
		state = state * 6364136223846793005 + 1442695040888963407;
		frame_count += symbol_cache_lookup(cache, blocks->base + (state >> 32) % span,
						   frames, FRAMES_MAX);
	}
	*frames_each = (double)frame_count / BENCH_LOOKUPS;
	return (double)(clock_thread_cpu_ns() - begin_ns) / BENCH_LOOKUPS;
}

static void bench(const struct made *made)
{
	double frames_each, ns;

	if (!made->cache.blocks.count)
		return;
	ns = look_up(&made->cache, BENCH_LOOKUPS, &frames_each);
	printf("  %.0f ns a look-up at random, %.2f frames each\n", ns, frames_each);
	ns = look_up(&made->cache, BENCH_SAME_ADDRESSES, &frames_each);
	printf("  %.0f ns of %d addresses, %.2f frames each\n", ns, BENCH_SAME_ADDRESSES,
	       frames_each);
}

/* Prints the peak of resident memory; file pages can be reclaimed and are counted separately. */
static void print_memory(void)
{
	struct rusage usage;
	char line[LINE_BYTES];
	FILE *status = fopen("/proc/self/status", "re");

	getrusage(options.here ? RUSAGE_SELF : RUSAGE_CHILDREN, &usage);
	printf("  %ld KB at most in memory", usage.ru_maxrss);
	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "RssAnon:", 8))
			printf(", of the process alone now %ld KB", strtol(line + 8, NULL, 10));
	puts("");
	if (status)
		fclose(status);
}

static void print_stats(const char *path, const struct made *made)
{
	struct symbol_cache_header header;

	memcpy(&header, made->bytes, sizeof(header));
	printf("%s: %zu bytes of symbol cache in %.3f s (%.3f s of CPU time)\n", path, made->size,
	       made->made_ns / 1e9, made->cpu_ns / 1e9);
	printf("  %zu bytes of names, %zu of what is inlined deeply\n", made->cache.strings_bytes,
	       made->cache.scopes_bytes);
	printf("  %" PRIu64 " rows of functions, %" PRIu64 " rows of lines and %" PRIu64
	       " rows of symbols in %" PRIu64 " bytes\n",
	       header.row_counts[SYMBOL_DATA_SCOPES], header.row_counts[SYMBOL_DATA_LINES],
	       header.row_counts[SYMBOL_DATA_SYMBOLS],
	       header.parts[SYMBOL_CACHE_PART_INDEX].bytes +
		       header.parts[SYMBOL_CACHE_PART_BLOCKS].bytes);
	print_memory();
}

/* Single-letter flags may be combined, as in addr2line. */
static bool take_letters(const char *letters)
{
	for (; *letters; letters++) {
		if (*letters == 'a')
			options.addresses = true;
		else if (*letters == 'f')
			options.functions = true;
		else if (*letters == 'i')
			options.inlines = true;
		else if (*letters == 'C')
			options.demangled = true;
		else
			return false;
	}
	return true;
}

static bool take_option(int argc, char **argv, int *i)
{
	const char *option = argv[*i] + 1;

	if (!strcmp(option, "symtab"))
		options.symtab = true;
	else if (!strcmp(option, "limited"))
		options.limited = true;
	else if (!strcmp(option, "here"))
		options.here = true;
	else if (!strcmp(option, "stats"))
		options.stats = true;
	else if (!strcmp(option, "bench"))
		options.stats = options.bench = true;
	else if (!strcmp(option, "o") && *i + 1 < argc)
		options.output = argv[++*i];
	else
		return take_letters(option);
	return true;
}

/*
 * Every line of stdin gets an answer, as in addr2line, because answers are matched by their order.
 */
static bool are_addresses(char **texts)
{
	for (; *texts; texts++) {
		char *end;

		errno = 0;
		strtoull(*texts, &end, 16);
		if (strcmp(*texts, "-") && (!isxdigit(**texts) || *end || errno)) {
			fprintf(stderr, "symbols: %s is no hexadecimal address\n", *texts);
			return false;
		}
	}
	return true;
}

static bool has_rows(const struct made *made, enum symbol_data table)
{
	struct symbol_cache_header header;

	memcpy(&header, made->bytes, sizeof(header));
	return header.row_counts[table];
}

static bool has_dwarf_rows(const struct made *made)
{
	return has_rows(made, SYMBOL_DATA_SCOPES) || has_rows(made, SYMBOL_DATA_LINES);
}

/*
 * Opens the file for what its symbol caches do not have. A file that was read may still be none that this
 * can read; it then adds nothing.
 */
static void open_source(const char *path, bool has_dwarf, struct source *source)
{
	source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (source->fd < 0 || elf_image_init_fd(&source->image, source->fd))
		return;
	source->has_go = !has_dwarf && !options.symtab &&
			 !go_table_init(&source->go, &source->image);
}

static void report(const char *path, const struct made *made, const struct source *source)
{
	_cleanup_(free_pointer) char *real_path = realpath(path, NULL);
	_cleanup_(elf_image_deinit) struct elf_image debug = { .fd = -1 };
	const struct debug_file_search search = { .proc_root = "/proc",
						  .pid = getpid(),
						  .path = real_path };
	_cleanup_(close_fd) int debug_fd = open_debug_file(source->fd, &search);
	bool has_debug = debug_fd >= 0 && !elf_image_init_fd(&debug, debug_fd);

	file_report_print(stdout, path, &source->image, has_debug ? &debug : NULL, &search);
	if (!options.symtab && !has_dwarf_rows(made))
		puts("  no function or line by DWARF");
}

static int do_file(const char *path, char **addresses)
{
	_cleanup_(made_deinit) struct made made = { 0 };
	_cleanup_(source_deinit) struct source source = { .fd = -1, .image = { .fd = -1 } };
	int err = make(path, &made);

	if (err || !made.bytes) {
		fprintf(stderr, "symbols: %s: %s\n", path, error_text());
		return err;
	}
	if (dwarf_problem_text()[0])
		fprintf(stderr, "symbols: %s: not all DWARF is read: %s\n", path,
			dwarf_problem_text());
	open_source(path, has_dwarf_rows(&made), &source);
	if (!has_dwarf_rows(&made) && !has_rows(&made, SYMBOL_DATA_SYMBOLS) && !source.has_go)
		fprintf(stderr, "symbols: %s: no name or line is in it\n", path);
	if (!options.stats && !*addresses && source.image.segments)
		report(path, &made, &source);
	if (!addresses || !*addresses || options.stats)
		print_stats(path, &made);
	if (options.bench)
		bench(&made);
	if (addresses)
		print_addresses(&made.cache, &source, addresses);
	return 0;
}

int main(int argc, char **argv)
{
	int status = 0, i = 1;

	symbol_cache_maker_enter(argc, argv);
	for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++)
		if (!take_option(argc, argv, &i))
			break;
	if (i == argc || argv[i][0] == '-') {
		fputs("usage: symbols [-a] [-f] [-i] [-C] [-symtab] [-limited] [-here] [-o CACHEFILE] FILE [ADDR...|-]\n"
		      "       symbols -stats|-bench FILE...\n",
		      stderr);
		return 2;
	}
	if (!options.stats && !are_addresses(argv + i + 1))
		return 2;
	if (!options.stats)
		return do_file(argv[i], argv + i + 1) ? 1 : 0;
	for (; i < argc; i++)
		status |= do_file(argv[i], NULL) ? 1 : 0;
	return status;
}
