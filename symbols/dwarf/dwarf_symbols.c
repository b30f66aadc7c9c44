/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdw caches lines, abbreviations and open files as long as a Dwarf exists, so after some units a
 * new Dwarf is made. Units are found again by their number, which costs half a microsecond each.
 */
#include "symbols/dwarf/dwarf_symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libelf.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "symbols/cache/scratch_file.h"
#include "symbols/dwarf/common_file.h"
#include "symbols/dwarf/dwarf_problem.h"
#include "symbols/dwarf/dwarf_unit.h"
#include "symbols/dwarf/unpacked_elf.h"

enum {
	/* Limits for one Dwarf: some ten megabytes. */
	UNITS_MAX = 1000,
	LINES_MAX = 350000,
	SPLIT_UNITS_MAX = 100,
	SPLIT_BYTES_MAX = 64 << 20,
};

static uint64_t (*provide_split)(uint64_t id);

void dwarf_symbols_provide_split(uint64_t (*provide)(uint64_t id))
{
	provide_split = provide;
}

static int (*provide_unpacked)(const struct elf_image *image, int *fd);

void dwarf_symbols_provide_unpacked(int (*provide)(const struct elf_image *image, int *fd))
{
	provide_unpacked = provide;
}

struct pass {
	Elf *elf;
	const struct elf_image *image;
	struct dwarf_reader reader;
	/* Units that have been read. */
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

/*
 * Releases pages of the file. If libelf had read it into its own memory, that would not begin at a
 * page boundary.
 */
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

/* Opens the file of a split unit, if @unit is a skeleton. Returns the memory that this takes. */
static uint64_t open_split(Dwarf_CU *unit, Dwarf_Die *split)
{
	uint64_t id, bytes = 0;

	if (provide_split && !dwarf_cu_info(unit, NULL, NULL, NULL, NULL, &id, NULL, NULL))
		bytes = provide_split(id);
	(void)dwarf_cu_info(unit, NULL, NULL, NULL, split, NULL, NULL, NULL);
	return bytes;
}

/*
 * libdw uses any file at the path of dwz's common file, but a file of another build has other
 * names.
 */
static int check_common_file(Dwarf *dwarf)
{
	const char *path;
	const void *wanted, *found;
	ssize_t wanted_bytes = dwelf_dwarf_gnu_debugaltlink(dwarf, &path, &wanted);
	Dwarf *common = wanted_bytes > 0 ? dwarf_getalt(dwarf) : NULL;

	if (wanted_bytes > 0 && !common)
		dwarf_problem_note("the common file %.64s is not there", path);
	if (!common || (dwelf_elf_gnu_build_id(dwarf_getelf(common), &found) == wanted_bytes &&
			!memcmp(found, wanted, wanted_bytes)))
		return 0;
	return fail(-EBADMSG, "the common file %.64s is of another build", path);
}

/* The common file that DWARF 5's .debug_sup names; libdw does not search for it. */
struct supplementary {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
};

static void supplementary_deinit(struct supplementary *supplementary)
{
	dwarf_end(supplementary->dwarf);
	elf_end(supplementary->elf);
	close_fd(&supplementary->fd);
}

/* If the file is missing, names from it are missing too, as with libdw's own search. */
static int supplementary_init(struct supplementary *supplementary, const struct elf_image *image,
			      Dwarf *dwarf)
{
	_cleanup_(common_file_link_deinit) struct common_file_link link = { 0 };
	char path[PATH_MAX];

	*supplementary = (struct supplementary){ .fd = -1 };
	if (common_file_link_read(image, &link) || !link.is_supplementary ||
	    common_file_path(&link, image->fd, path, sizeof(path)))
		return 0;
	/* Non-blocking, because it may be a pipe if no sandbox opens the files. */
	supplementary->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (supplementary->fd < 0) {
		dwarf_problem_note("the common file %.64s is not there", link.path);
		return 0;
	}
	if (!common_file_is(&link, supplementary->fd))
		return fail(-EBADMSG, "the common file %.64s is of another build", link.path);
	supplementary->elf = elf_begin(supplementary->fd, ELF_C_READ_MMAP, NULL);
	supplementary->dwarf = dwarf_begin_elf(supplementary->elf, DWARF_C_READ, NULL);
	if (!supplementary->dwarf)
		return fail(-EBADMSG, "the common file %.64s: %s", link.path, dwarf_errmsg(-1));
	dwarf_setalt(dwarf, supplementary->dwarf);
	return 0;
}

/* Reads units with one Dwarf. */
static int add_some(struct pass *pass)
{
	_cleanup_(supplementary_deinit) struct supplementary supplementary = { .fd = -1 };
	_cleanup_(end_dwarf) Dwarf *dwarf = dwarf_begin_elf(pass->elf, DWARF_C_READ, NULL);
	uint64_t number = 0, first = pass->done_count, split_count = 0, split_bytes = 0;
	Dwarf_CU *at = NULL;
	int err = 0;

	if (!dwarf)
		return fail(-ENOENT, "no DWARF: %s", dwarf_errmsg(-1));
	err = check_common_file(dwarf);
	if (!err)
		err = supplementary_init(&supplementary, pass->image, dwarf);
	if (err)
		return err;
	pass->reader.line_count = 0;
	while (!err && number < first + UNITS_MAX && pass->reader.line_count < LINES_MAX &&
	       split_count < SPLIT_UNITS_MAX && split_bytes < SPLIT_BYTES_MAX) {
		Dwarf_Die unit, split = { 0 };
		uint8_t type;

		int more = dwarf_get_units(dwarf, at, &at, NULL, &type, &unit, NULL);

		if (more) {
			if (more < 0)
				dwarf_problem_note("unit %" PRIu64 ": %s", number + 1,
						   dwarf_errmsg(-1));
			pass->is_at_end = true;
			break;
		}
		if (number++ < first)
			continue;
		if (type == DW_UT_skeleton) {
			split_count++;
			split_bytes += open_split(at, &split);
		}
		pass->done_count = number;
		if (!is_code(type))
			continue;
		err = dwarf_reader_add_unit(&pass->reader, &unit, split.addr ? &split : NULL);
		/* A damaged unit does not affect others. */
		if (err == -EBADMSG) {
			dwarf_problem_note("unit %" PRIu64 ": %s", number, error_text());
			err = 0;
		}
	}
	dwarf_names_clear(&pass->reader.names);
	return err;
}

static int unpack(const struct elf_image *image, int *fd)
{
	return provide_unpacked ? provide_unpacked(image, fd) :
				  unpacked_elf_make(image, scratch_file_open, fd);
}

int dwarf_symbols_add(struct symbol_cache_writer *writer, const struct elf_image *image)
{
	_cleanup_(end_elf) Elf *elf = NULL;
	struct pass pass = { .reader = { .writer = writer, .names.strings = &writer->strings } };
	_cleanup_(close_fd) int unpacked = -1;
	int err = unpack(image, &unpacked);

	if (err)
		return err;
	elf_version(EV_CURRENT);
	elf = elf_begin(unpacked >= 0 ? unpacked : image->fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return fail(-EBADMSG, "libelf: %s", elf_errmsg(-1));
	pass.elf = elf;
	pass.image = image;
	while (!err && !pass.is_at_end) {
		err = add_some(&pass);
		release_pages(elf);
	}
	dwarf_reader_deinit(&pass.reader);
	return err;
}
