/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/mapping_query.h"

#include <errno.h>
#include <linux/types.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

/* As in <linux/fs.h>, which is older on most machines that build this. */
enum {
	QUERY_READABLE = 1 << 0,
	QUERY_WRITABLE = 1 << 1,
	QUERY_EXECUTABLE = 1 << 2,
	QUERY_COVERING_OR_NEXT = 1 << 4,
};

struct query {
	__u64 size;
	__u64 query_flags;
	__u64 query_addr;
	__u64 vma_start;
	__u64 vma_end;
	__u64 vma_flags;
	__u64 vma_page_size;
	__u64 vma_offset;
	__u64 inode;
	__u32 dev_major;
	__u32 dev_minor;
	/* In: room; out: bytes with the NUL, 0 without a name. */
	__u32 vma_name_size;
	__u32 build_id_size;
	__u64 vma_name_addr;
	__u64 build_id_addr;
};

_Static_assert(MAPPING_QUERY_CALL == _IOWR('f', 17, struct query), "the number has the size in it");

int mapping_query_code(int fd, uint64_t address, struct proc_mapping *row, char path[PATH_MAX])
{
	struct query query = {
		.size = sizeof(query),
		.query_flags = QUERY_EXECUTABLE | QUERY_COVERING_OR_NEXT,
		.query_addr = address,
		.vma_name_size = PATH_MAX,
		.vma_name_addr = (uintptr_t)path,
	};

	if (ioctl(fd, MAPPING_QUERY_CALL, &query)) {
		if (errno == ENOENT || errno == ESRCH)
			return -errno;
		return -EOPNOTSUPP;
	}
	if (!query.vma_name_size)
		path[0] = '\0';
	*row = (struct proc_mapping){
		.start = query.vma_start,
		.end = query.vma_end,
		.offset = query.vma_offset,
		.inode = query.inode,
		.device_major = query.dev_major,
		.device_minor = query.dev_minor,
		.protection = (query.vma_flags & QUERY_READABLE ? PROT_READ : 0) |
			      (query.vma_flags & QUERY_WRITABLE ? PROT_WRITE : 0) |
			      (query.vma_flags & QUERY_EXECUTABLE ? PROT_EXEC : 0),
	};
	return 0;
}
