/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file and its debug files with changes, in two roots and among fetched files; and paths of any text that debug data may
 * name. A file that is taken has the build id or the CRC of the other, and lies below one of the folders.
 *
 * covers: debug_file.c
 */
#include "lib/elf/debug_file.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/base/fuzz/edit_bytes.h"
#include "lib/elf/tests/elf_builder.h"

enum {
	TEXT_BYTES = 64,
	PID = 42,
	/* Kinds of inputs, a bit each. */
	WITHOUT_BUILD_ID = 1,
	DEBUG_WITHOUT_BUILD_ID = 2,
	EDITS_DEBUG = 4,
	WITHOUT_LINK = 8,
	WITHOUT_PROCESS = 16,
	WITHOUT_PATH = 32,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/allframes-fuzz-XXXXXX";

/* All of them have the same content. */
static const char *const files[] = {
	"1/root/opt/tool/bin.debug",
	"42/root/opt/tool/.debug/bin.debug",
	"42/root/usr/lib/debug/.build-id/ab/cdef.debug",
	"fetched/abcdef/debuginfo",
};

enum { FILES = sizeof(files) / sizeof(files[0]) };

static int fds[FILES];

static void remove_folder(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	(void)!system(command);
}

static void make_files(void)
{
	assert(mkdtemp(folder) && !atexit(remove_folder));
	for (int i = 0; i < FILES; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/'));
		     slash++) {
			*slash = '\0';
			(void)mkdir(path, 0700);
			*slash = '/';
		}
		fds[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		assert(fds[i] >= 0);
	}
}

static void build(struct elf_builder *builder, bool has_build_id, bool has_link, uint32_t crc)
{
	static const uint8_t text[TEXT_BYTES];
	static const uint8_t note[] = { 4, 0, 0,   0,	3,   0, 0,    0,    3,	 0,
					0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef };
	char link[16] = "bin.debug";

	elf_builder_init(builder, 1);
	elf_builder_add(builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text,
			sizeof(text));
	if (has_build_id)
		elf_builder_add(builder, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, note,
				sizeof(note));
	if (has_link) {
		memcpy(link + sizeof(link) - sizeof(crc), &crc, sizeof(crc));
		elf_builder_add(builder, ".gnu_debuglink", SHT_PROGBITS, 0, link, sizeof(link));
	}
	elf_builder_finish(builder);
}

/* A file that was found is one of ours. */
static void check_found(int fd)
{
	char link[64], path[PATH_MAX] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert(readlink(link, path, sizeof(path) - 1) > 0 &&
	       !strncmp(path, folder, strlen(folder)));
	close(fd);
}

static void search_for(struct debug_file_search *search, const struct elf_builder *file,
		       const char *path)
{
	struct elf_image image;
	int fd = -1;

	if (!debug_file_open_path(search, path, -1, &fd))
		check_found(fd);
	if (elf_image_init_memory(&image, file->bytes, BUILT_BYTES))
		return;
	if (!debug_file_open(search, &image, &fd))
		check_found(fd);
	elf_image_deinit(&image);
}

static void parse_link(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size + !size);
	const char *name;
	uint32_t crc;

	assert(exact);
	if (size)
		memcpy(exact, data, size);
	if (!debug_link_parse(exact, size, &name, &crc))
		assert(strlen(name) < size && *name && !strchr(name, '/'));
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct elf_builder file, debug;
	static char fetched[PATH_MAX];
	struct debug_file_search search = { .proc_root = folder,
					    .pid = PID,
					    .path = "/opt/tool/bin" };
	struct byte_reader reader;
	char path[PATH_MAX] = "/opt/tool/bin.debug";
	size_t path_bytes;
	uint8_t kind;

	if (!fetched[0]) {
		make_files();
		snprintf(fetched, sizeof(fetched), "%s/fetched", folder);
	}
	parse_link(data, size);
	byte_reader_init(&reader, data, size);
	kind = byte_reader_u8(&reader);
	build(&debug, !(kind & DEBUG_WITHOUT_BUILD_ID), false, 0);
	if (kind & EDITS_DEBUG)
		edit_bytes(&reader, debug.bytes, debug.used);
	build(&file, !(kind & WITHOUT_BUILD_ID), !(kind & WITHOUT_LINK),
	      (uint32_t)crc32(0, debug.bytes, BUILT_BYTES));
	if (!(kind & EDITS_DEBUG))
		edit_bytes(&reader, file.bytes, file.used);
	for (int i = 0; i < FILES; i++)
		assert(pwrite(fds[i], debug.bytes, BUILT_BYTES, 0) == BUILT_BYTES);
	search.fetched = fetched;
	if (kind & WITHOUT_PROCESS)
		search.pid = 0;
	if (kind & WITHOUT_PATH)
		search.path = NULL;
	path_bytes = byte_reader_left(&reader) < sizeof(path) - 1 ? byte_reader_left(&reader) :
								    sizeof(path) - 1;
	if (path_bytes) {
		memcpy(path, reader.position, path_bytes);
		path[path_bytes] = '\0';
	}
	search_for(&search, &file, path);
	return 0;
}
