/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/dwarf/common_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/byte_reader.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/elf_notes.h"

enum {
	LINK_MAX_BYTES = PATH_MAX + 256,
	SUPPLEMENTARY_VERSION = 5,
};

/* Contents of a .debug_sup section, of either file. */
struct supplementary {
	bool is_common;
	const char *path;
	const uint8_t *checksum;
	size_t checksum_bytes;
};

void common_file_link_deinit(struct common_file_link *link)
{
	elf_bytes_deinit(&link->bytes);
}

static int load(const struct elf_image *image, const char *name, struct elf_bytes *bytes)
{
	const struct elf_section *section = elf_image_find_section(image, name);

	return section ? elf_image_load_section(image, section, LINK_MAX_BYTES, bytes) : -ENOENT;
}

static int parse_supplementary(const struct elf_bytes *bytes, struct supplementary *found)
{
	struct byte_reader reader;
	uint16_t version;

	byte_reader_init(&reader, bytes->data, bytes->size);
	version = byte_reader_u16(&reader);
	found->is_common = byte_reader_u8(&reader);
	found->path = byte_reader_string(&reader);
	found->checksum_bytes = byte_reader_uleb128(&reader);
	found->checksum = byte_reader_bytes(&reader, found->checksum_bytes);
	if (byte_reader_failed(&reader) || version != SUPPLEMENTARY_VERSION ||
	    !found->checksum_bytes)
		return fail(-EBADMSG, ".debug_sup is damaged, or of another version");
	return 0;
}

static int read_supplementary(const struct elf_image *image, struct common_file_link *link)
{
	struct supplementary found;
	int err = load(image, ".debug_sup", &link->bytes);

	if (!err)
		err = parse_supplementary(&link->bytes, &found);
	if (err)
		return err;
	/* This is the common file itself. */
	if (found.is_common)
		return -ENOENT;
	link->path = found.path;
	link->identity = found.checksum;
	link->identity_bytes = found.checksum_bytes;
	link->is_supplementary = true;
	return 0;
}

int common_file_link_read(const struct elf_image *image, struct common_file_link *link)
{
	const uint8_t *end;
	int err;

	*link = (struct common_file_link){ 0 };
	err = load(image, ".gnu_debugaltlink", &link->bytes);
	if (err == -ENOENT)
		return read_supplementary(image, link);
	if (err)
		return err;
	end = memchr(link->bytes.data, '\0', link->bytes.size);
	if (!end)
		return fail(-EBADMSG, ".gnu_debugaltlink is damaged");
	link->path = (const char *)link->bytes.data;
	link->identity = end + 1;
	link->identity_bytes = link->bytes.data + link->bytes.size - link->identity;
	return 0;
}

int common_file_path(const struct common_file_link *link, int fd, char *path, size_t capacity)
{
	char own[64], file[PATH_MAX];
	const char *slash;
	ssize_t length;
	int folder = 0;

	if (link->path[0] != '/') {
		snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
		length = readlink(own, file, sizeof(file));
		slash = length > 0 ? memrchr(file, '/', length) : NULL;
		if (!slash)
			return -ENOENT;
		folder = (int)(slash - file) + 1;
	}
	if (snprintf(path, capacity, "%.*s%s", folder, file, link->path) >= (int)capacity)
		return -ENAMETOOLONG;
	return 0;
}

static bool is_same(const struct common_file_link *link, const uint8_t *bytes, size_t count)
{
	return bytes && count == link->identity_bytes && !memcmp(bytes, link->identity, count);
}

bool common_file_is(const struct common_file_link *link, int fd)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	_cleanup_(elf_bytes_deinit) struct elf_bytes bytes = { 0 };
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	struct supplementary found;
	uint32_t build_id_bytes;

	if (elf_image_init_fd(&image, fd))
		return false;
	if (!link->is_supplementary)
		return !elf_image_build_id(&image, build_id, &build_id_bytes) &&
		       is_same(link, build_id, build_id_bytes);
	return !load(&image, ".debug_sup", &bytes) && !parse_supplementary(&bytes, &found) &&
	       found.is_common && is_same(link, found.checksum, found.checksum_bytes);
}
