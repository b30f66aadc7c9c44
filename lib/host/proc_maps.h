/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The mappings of a process, from the text of /proc/PID/maps (fs/proc/task_mmu.c, show_map_vma()):
 *
 *	start-end perm offset major:minor inode      path
 *
 * Line ends in the path come escaped as \012 and are put back. The kernel marks unlinked files with "
 * (deleted)"; a file may also have such a name, and the text does not distinguish the two.
 */
#ifndef LIB_HOST_PROC_MAPS_H
#define LIB_HOST_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	/** Number of rows kept; the rest is left out (is_truncated). */
	PROC_MAPS_MAX_ROWS = 1 << 16,
	/** Bytes of paths kept, and bytes of text read. */
	PROC_MAPS_MAX_PATH_BYTES = 8 << 20,
	PROC_MAPS_MAX_TEXT_BYTES = 128 << 20,
};

enum proc_maps_filter {
	PROC_MAPS_ALL,
	/** Only rows with PROT_EXEC. */
	PROC_MAPS_EXECUTABLE,
	/**
	 * These, and of the rows of files that are not executable the nearest ones below and above executable memory without
	 * a file: it may contain a copy of a file's text.
	 */
	PROC_MAPS_CODE,
};

struct proc_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	/** PROT_READ | PROT_WRITE | PROT_EXEC of <sys/mman.h> */
	uint8_t protection;
	/** The path ended in " (deleted)", which was cut off. */
	bool is_deleted;
	/** Borrowed from the maps; "" for anonymous memory, "[vdso]" and the like. */
	const char *path;
};

/** Rows ascend and do not overlap. */
struct proc_maps {
	struct proc_mapping *rows;
	uint32_t count;
	/** A limit was reached. The rows that were kept are right. */
	bool is_truncated;
	/** The paths, owned. */
	char *paths;
};

/** Parses @size bytes of text; -EBADMSG with a text that quotes the malformed line, -ENOMEM. */
int proc_maps_parse(struct proc_maps *maps, const char *text, size_t size,
		    enum proc_maps_filter filter);

/**
 * Reads the mappings of @pid below @proc_root ("/proc"); where only code is wanted, it asks the kernel for the single mappings instead,
 * if it can (mapping_query.h), and the [vsyscall] page is then missing. Through another thread's task/TID/maps once the leader
 * has exited. -ESRCH if the process is gone or has no memory (zombie, kernel thread); -EACCES and other errors
 * of the kernel.
 */
int proc_maps_read(struct proc_maps *maps, const char *proc_root, pid_t pid,
		   enum proc_maps_filter filter);

void proc_maps_deinit(struct proc_maps *maps);

#endif
