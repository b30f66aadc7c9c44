/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build/go_table -info|-functions|-frames|-pass FILE
 *
 * Prints what the agent reads in Go's table of an ELF file:
 *	-info		where it is, and of which Go (the default)
 *	-functions	each function: ELF virtual addresses, name
 *	-frames		for each ELF virtual address on stdin, in hexadecimal, a line of fields with tabs in
 *			between: the address, the size of the frame there, and for each frame, innermost
 *			first, name, file and line, with ! before the name of one that Go leaves out
 *	-pass		functions, and changes of the size of frames, in the whole table; how fast they are
 *			read, and how much memory that took
 *
 * Exit status: 0, 1 if the file or its table could not be read, 2 wrong usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/elf/go_build_info.h"
#include "lib/elf/go_frames.h"

enum { LINE_MAX_BYTES = 256, PASS_MIN_MS = 500 };

typedef int action_function(struct go_table *table);

static int print_info(struct go_table *table)
{
	const struct go_header *header = &table->header;
	struct go_build_info info = { .version = "?" };

	go_build_info_read(&info, &table->pages, &table->relocations);
	printf("header %d at %#" PRIx64 " (file %#" PRIx64 "), %s, %u functions, code %#" PRIx64
	       " to %#" PRIx64 ", text %#" PRIx64 ", funcdata %#" PRIx64 "\n",
	       header->version, header->address, header->offset, info.version,
	       header->function_count, table->first_address, table->end_address, table->text,
	       table->funcdata);
	return 0;
}

static int print_functions(struct go_table *table)
{
	_cleanup_(text_builder_deinit) struct text_builder name = { 0 };
	const struct go_part *names = &table->header.names;

	for (uint32_t i = 0; i < table->header.function_count; i++) {
		struct go_function function;
		int err = go_function_read(table, i, &function);

		text_builder_clear(&name);
		if (!err && function.name)
			err = elf_pages_read_string(&table->pages, names->offset + function.name,
						    names->offset + names->bytes, GO_NAME_MAX_BYTES,
						    &name);
		if (err)
			return err;
		printf("%" PRIx64 "\t%" PRIx64 "\t%u\t%u\t%s\n", function.start, function.end,
		       function.id, function.flags, text_builder_text(&name));
	}
	return 0;
}

static int print_frames_at(struct go_table *table, struct go_frames *frames, uint64_t address)
{
	int32_t frame_bytes = -1;
	int err = go_frames_find(frames, table, address);

	if (!err)
		err = go_function_value(table, &frames->function, frames->function.pcsp, address,
					&frame_bytes);
	if (err && err != -ENOENT)
		return err;
	printf("%" PRIx64 "\t%d", address, frame_bytes);
	for (size_t i = 0; i < frames->frames.count; i++) {
		const struct go_frame *frame = &frames->frames.items[i];

		printf("\t%s%s\t%s\t%d", frame->is_left_out ? "!" : "",
		       go_frames_function(frames, frame), go_frames_file(frames, frame),
		       frame->line);
	}
	putchar('\n');
	return 0;
}

static int print_frames(struct go_table *table)
{
	_cleanup_(go_frames_deinit) struct go_frames frames = { 0 };
	char line[LINE_MAX_BYTES];
	int err = 0;

	while (!err && fgets(line, sizeof(line), stdin))
		err = print_frames_at(table, &frames, strtoull(line, NULL, 16));
	return err;
}

/* One pass over the frame sizes of all functions. */
static int pass(struct go_table *table, uint64_t *value_count, int64_t *sum)
{
	for (uint32_t i = 0; i < table->header.function_count; i++) {
		struct go_function function;
		struct go_values values;
		struct go_value value;
		int more = go_function_read(table, i, &function);

		if (more)
			return more;
		if (!function.pcsp)
			continue;
		go_values_init(&values, table, &function, function.pcsp);
		while ((more = go_values_next(&values, &value)) > 0) {
			++*value_count;
			*sum += value.value;
		}
		if (more)
			return more;
	}
	return 0;
}

static uint64_t anonymous_kilobytes(void)
{
	_cleanup_(close_file) FILE *status = fopen("/proc/self/status", "re");
	char line[LINE_MAX_BYTES];

	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "RssAnon:", 8))
			return strtoull(line + 8, NULL, 10);
	return 0;
}

static int time_pass(struct go_table *table)
{
	const struct go_header *header = &table->header;
	uint64_t bytes = header->functions.offset + header->functions.bytes - header->offset;
	uint64_t start = clock_monotonic_ns(), passed, runs = 0, value_count;
	int64_t sum;
	int err;

	do {
		value_count = 0;
		sum = 0;
		err = pass(table, &value_count, &sum);
		runs++;
		passed = clock_monotonic_ns() - start;
	} while (!err && passed < PASS_MIN_MS * 1000000ULL);
	if (!err)
		printf("%u functions, %" PRIu64 " values (sum %" PRId64 "), %.1f MB: %.0f MB/s, "
		       "%.0f ns a function, RssAnon %" PRIu64 " kB\n",
		       header->function_count, value_count, sum, bytes / 1e6,
		       bytes * 1e3 * runs / passed, (double)passed / runs / header->function_count,
		       anonymous_kilobytes());
	return err;
}

static int run(action_function *action, const char *path)
{
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	_cleanup_(go_table_deinit) struct go_table table = { 0 };
	int err;

	if (fd < 0)
		return fail_errno(-errno, "open");
	err = elf_image_init_fd(&image, fd);
	if (!err)
		err = go_table_init(&table, &image);
	return err ? err : action(&table);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *option;
		action_function *action;
	} actions[] = {
		{ "-info", print_info },
		{ "-functions", print_functions },
		{ "-frames", print_frames },
		{ "-pass", time_pass },
	};
	action_function *action = print_info;

	if (argc == 3) {
		action = NULL;
		for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
			if (!strcmp(argv[1], actions[i].option))
				action = actions[i].action;
	}
	if (argc < 2 || argc > 3 || !action) {
		fprintf(stderr, "usage: go_table [-info|-functions|-frames|-pass] FILE\n");
		return 2;
	}
	if (run(action, argv[argc - 1])) {
		fprintf(stderr, "go_table: %s: %s\n", argv[argc - 1], error_text());
		return 1;
	}
	return 0;
}
