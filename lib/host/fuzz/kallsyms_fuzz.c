/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of /proc/kallsyms: symbols come out sorted, with names that end and modules that exist, and
 * the same from a file as from memory.
 *
 * covers: kallsyms.c line_reader.c
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/host/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_symbols(const struct kallsyms *kallsyms)
{
	for (uint32_t i = 0; i < kallsyms->count; i++) {
		const struct kallsyms_symbol *symbol = &kallsyms->symbols[i];

		if (i && symbol[-1].address >= symbol->address)
			abort();
		if (symbol->name >= kallsyms->name_bytes ||
		    symbol->module >= kallsyms->module_count)
			abort();
		if (strlen(kallsyms->names + symbol->name) > KALLSYMS_NAME_MAX_BYTES ||
		    strlen(kallsyms->modules[symbol->module]) >= KALLSYMS_MODULE_NAME_BYTES)
			abort();
		if (kallsyms_find(kallsyms, symbol->address) != symbol)
			abort();
	}
	if (kallsyms->symbols[0].address &&
	    kallsyms_find(kallsyms, kallsyms->symbols[0].address - 1))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct kallsyms parsed, read;
	char path[64];
	int err;

	err = kallsyms_parse(&parsed, (const char *)data, size);
	if (fd < 0)
		fd = memfd_create("kallsyms", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (kallsyms_read(&read, path) != err)
		abort();
	if (err)
		return 0;
	check_symbols(&parsed);
	if (read.count != parsed.count || read.module_count != parsed.module_count ||
	    memcmp(read.symbols, parsed.symbols, read.count * sizeof(read.symbols[0])))
		abort();
	kallsyms_deinit(&read);
	kallsyms_deinit(&parsed);
	return 0;
}
