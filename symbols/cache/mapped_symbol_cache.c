/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/cache/mapped_symbol_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/error.h"

static int init(struct mapped_symbol_cache *mapped, struct hash128 key, bool is_checked)
{
	struct symbol_cache_header header;
	int err = is_checked ?
			  symbol_cache_init_unchecked(&mapped->file, mapped->bytes, mapped->size) :
			  symbol_cache_init(&mapped->file, mapped->bytes, mapped->size);

	if (err)
		return err;
	memcpy(&header, mapped->bytes, sizeof(header));
	return hash128_equal(header.key, key) ? 0 :
						fail(-EBADMSG, "the symbol cache of another file");
}

int mapped_symbol_cache_create(int fd, struct hash128 key, bool is_checked,
			       struct mapped_symbol_cache **mapped)
{
	struct mapped_symbol_cache *created;
	struct stat status;
	int err;

	if (fstat(fd, &status))
		return fail_errno(-errno, "symbol cache");
	if (!status.st_size)
		return fail(-EBADMSG, "an empty symbol cache");
	created = calloc(1, sizeof(*created));
	if (!created)
		return fail(-ENOMEM, "no memory for a symbol cache");
	created->references = 1;
	created->size = status.st_size;
	created->bytes = mmap(NULL, created->size, PROT_READ, MAP_SHARED, fd, 0);
	if (created->bytes == MAP_FAILED) {
		err = fail_errno(-errno, "symbol cache");
		free(created);
		return err;
	}
	err = init(created, key, is_checked);
	if (err) {
		mapped_symbol_cache_unref(created);
		return err;
	}
	*mapped = created;
	return 0;
}

struct mapped_symbol_cache *mapped_symbol_cache_ref(struct mapped_symbol_cache *mapped)
{
	__atomic_add_fetch(&mapped->references, 1, __ATOMIC_RELAXED);
	return mapped;
}

void mapped_symbol_cache_unref(struct mapped_symbol_cache *mapped)
{
	if (!mapped || __atomic_sub_fetch(&mapped->references, 1, __ATOMIC_ACQ_REL))
		return;
	munmap(mapped->bytes, mapped->size);
	free(mapped);
}
