/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/cache/mapped_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/error.h"

static int init(struct mapped_ranges *mapped, struct hash128 key, bool is_checked)
{
	struct range_file_header header;
	int err = is_checked ?
			  range_file_init_unchecked(&mapped->file, mapped->bytes, mapped->size) :
			  range_file_init(&mapped->file, mapped->bytes, mapped->size);

	if (err)
		return err;
	memcpy(&header, mapped->bytes, sizeof(header));
	return hash128_equal(header.key, key) ? 0 : fail(-EBADMSG, "ranges of another file");
}

int mapped_ranges_create(int fd, struct hash128 key, bool is_checked, struct mapped_ranges **mapped)
{
	struct mapped_ranges *created;
	struct stat status;
	int err;

	if (fstat(fd, &status))
		return fail_errno(-errno, "range file");
	if (!status.st_size)
		return fail(-EBADMSG, "an empty range file");
	created = calloc(1, sizeof(*created));
	if (!created)
		return fail(-ENOMEM, "no memory for ranges");
	created->references = 1;
	created->size = status.st_size;
	created->bytes = mmap(NULL, created->size, PROT_READ, MAP_SHARED, fd, 0);
	if (created->bytes == MAP_FAILED) {
		err = fail_errno(-errno, "range file");
		free(created);
		return err;
	}
	err = init(created, key, is_checked);
	if (err) {
		mapped_ranges_unref(created);
		return err;
	}
	*mapped = created;
	return 0;
}

struct mapped_ranges *mapped_ranges_ref(struct mapped_ranges *mapped)
{
	__atomic_add_fetch(&mapped->references, 1, __ATOMIC_RELAXED);
	return mapped;
}

void mapped_ranges_unref(struct mapped_ranges *mapped)
{
	if (!mapped || __atomic_sub_fetch(&mapped->references, 1, __ATOMIC_ACQ_REL))
		return;
	munmap(mapped->bytes, mapped->size);
	free(mapped);
}
