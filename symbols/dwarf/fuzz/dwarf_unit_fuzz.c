/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the DWARF of an ELF file, which is the input, looks up in the result, and prints a report
 * about the file: our code must not crash, and the symbol cache must be readable.
 *
 * covers: dwarf_unit.c dwarf_names.c dwarf_symbols.c dwarf_problem.c common_file.c ../file_report.c
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/build/make_symbol_cache.h"
#include "symbols/cache/symbol_cache.h"
#include "symbols/file_report.h"

enum {
	FRAMES = 8,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(int fd)
{
	size_t size = lseek(fd, 0, SEEK_END);
	void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	struct symbol_frame frames[FRAMES];
	struct symbol_cache file;

	if (bytes == MAP_FAILED || symbol_cache_init(&file, bytes, size))
		abort();
	for (uint32_t i = 0; i < file.blocks.count; i++)
		(void)symbol_cache_lookup(
			&file, file.blocks.base + address_index_at(&file.blocks.index, i), frames,
			FRAMES);
	munmap(bytes, size);
}

static void report(const struct elf_image *image)
{
	static const struct debug_file_search search = { .proc_root = "/proc" };
	static FILE *nowhere;

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	file_report_print(nowhere, "input", image, NULL, &search);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int input = memfd_create("input", MFD_CLOEXEC), output;
	struct symbol_cache_writer writer = { 0 };
	struct elf_image image;

	if (write(input, data, size) == (ssize_t)size && !elf_image_init_fd(&image, input)) {
		output = memfd_create("symbol-cache", MFD_CLOEXEC);
		if (!make_symbol_cache_of(&image, NULL, SYMBOL_DEPTH_FULL, &writer) &&
		    !symbol_cache_writer_finish(&writer, (struct hash128){ 0 }, output))
			look_up(output);
		symbol_cache_writer_deinit(&writer);
		report(&image);
		elf_image_deinit(&image);
		close(output);
	}
	close(input);
	return 0;
}
