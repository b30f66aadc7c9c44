/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdw keeps lines, abbreviations and open files for as long as a Dwarf lives: there is a new one every
 * some units. Units are found again by their number, which costs half a microsecond for each.
 */
#include "symbols/dwarf_ranges.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <libelf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/error.h"
#include "symbols/dwarf_unit.h"

enum {
	/* What one Dwarf is used for: some ten megabytes. */
	UNITS_MAX = 1000,
	LINES_MAX = 400000,
	SPLIT_UNITS_MAX = 100,
};

struct pass {
	Elf *elf;
	struct dwarf_reader reader;
	/* Units that are done. */
	uint64_t done_count;
	bool is_at_end;
};

static void end_elf(Elf **elf)
{
	elf_end(*elf);
}

static void end_dwarf(Dwarf **dwarf)
{
	dwarf_end(*dwarf);
}

/* Lets go of pages of the file. Had libelf read it into memory of its own, that would not begin at a page. */
static void release_pages(Elf *elf)
{
	size_t size = 0;
	char *bytes = elf_rawfile(elf, &size);

	if (bytes && !((uintptr_t)bytes % (uintptr_t)sysconf(_SC_PAGESIZE)))
		(void)madvise(bytes, size, MADV_DONTNEED);
}

static bool is_code(uint8_t type)
{
	return type == DW_UT_compile || type == DW_UT_partial || type == DW_UT_skeleton;
}

/* Units by one Dwarf. */
static int add_some(struct pass *pass)
{
	_cleanup_(end_dwarf) Dwarf *dwarf = dwarf_begin_elf(pass->elf, DWARF_C_READ, NULL);
	uint64_t number = 0, first = pass->done_count, split_count = 0;
	Dwarf_CU *at = NULL;
	int err = 0;

	if (!dwarf)
		return fail(-ENOENT, "no DWARF: %s", dwarf_errmsg(-1));
	pass->reader.line_count = 0;
	while (!err && number < first + UNITS_MAX && pass->reader.line_count < LINES_MAX &&
	       split_count < SPLIT_UNITS_MAX) {
		Dwarf_Die unit, split = { 0 };
		uint8_t type;

		/* Asking for the split unit opens its file. */
		if (dwarf_get_units(dwarf, at, &at, NULL, &type, &unit,
				    number < first ? NULL : &split)) {
			pass->is_at_end = true;
			break;
		}
		if (number++ < first)
			continue;
		split_count += type == DW_UT_skeleton;
		pass->done_count = number;
		if (!is_code(type))
			continue;
		err = dwarf_reader_add_unit(&pass->reader, &unit, split.addr ? &split : NULL);
		/* A damaged unit costs no other. */
		if (err == -EBADMSG)
			err = 0;
	}
	dwarf_names_clear(&pass->reader.names);
	return err;
}

int dwarf_ranges_add(struct range_writer *writer, int fd)
{
	_cleanup_(end_elf) Elf *elf = NULL;
	struct pass pass = { .reader = { .writer = writer, .names.strings = &writer->strings } };
	int err = 0;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return fail(-EBADMSG, "libelf: %s", elf_errmsg(-1));
	pass.elf = elf;
	while (!err && !pass.is_at_end) {
		err = add_some(&pass);
		release_pages(elf);
	}
	dwarf_reader_deinit(&pass.reader);
	return err;
}
