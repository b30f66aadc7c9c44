/* SPDX-License-Identifier: Apache-2.0 */
/**
 * An ELF core file of a 64-bit process (x86-64 or arm64): its threads with their registers, the
 * files that it had mapped, and the memory that was dumped. Format: Linux, fs/binfmt_elf.c (notes
 * NT_PRSTATUS, NT_ARM_TLS, NT_FILE, NT_AUXV; one PT_LOAD per mapping), and qemu's
 * linux-user/elfload.c, which leaves NT_ARM_TLS and NT_FILE out.
 *
 * The file is hostile: every offset and count is checked, and the memory for its tables is bounded. It is read
 * by pread, so a file that is truncated meanwhile causes an error only. One thread at a time.
 */
#ifndef LIB_HOST_CORE_FILE_H
#define LIB_HOST_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"
#include "lib/host/register_set.h"
#include "lib/host/remote_memory.h"

enum {
	/** A process has at most vm.max_map_count mappings, 65530 by default. */
	CORE_FILE_MAX_SEGMENTS = 1 << 18,
	CORE_FILE_MAX_THREADS = 1 << 16,
	CORE_FILE_MAX_MAPPINGS = 1 << 18,
	/** Bytes of all notes together; a thread with all its register sets takes some 4 KiB. */
	CORE_FILE_MAX_NOTE_BYTES = 256 << 20,
};

/** Memory of the process. Its first file_bytes were dumped. */
struct core_segment {
	uint64_t address;
	uint64_t memory_bytes;
	uint64_t offset;
	uint64_t file_bytes;
	bool is_executable;
};

struct core_thread {
	uint32_t tid;
	struct register_set set;
};

/** An entry of NT_FILE: the file's bytes from offset on were mapped at [start, end). */
struct core_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	/** Borrowed from the core file's notes. */
	const char *path;
};

VECTOR_DEFINE(core_segments, struct core_segment)
VECTOR_DEFINE(core_threads, struct core_thread)
VECTOR_DEFINE(core_mappings, struct core_mapping)

struct core_file {
	/** Reads memory that was dumped; -EFAULT for the rest. */
	struct remote_memory memory;
	/** Borrowed. */
	int fd;
	/** EM_X86_64 or EM_AARCH64. */
	uint16_t machine;
	/** Sorted by address, not overlapping. */
	struct core_segments segments;
	/** In the file's order: the thread that died, or that took the core, is the first. */
	struct core_threads threads;
	/** Sorted by start, not overlapping; none if there is no NT_FILE. */
	struct core_mappings mappings;
	/** AT_SYSINFO_EHDR: address of the vDSO's image; 0 if there is none. */
	uint64_t vdso_address;
	/** The notes, which paths are borrowed from. */
	uint8_t *notes;
};

/**
 * Reads the tables of @fd, which the caller owns and keeps open for the life of @core. -EOPNOTSUPP: not a core
 * file of a 64-bit process of these machines; -EBADMSG: damaged; -E2BIG: over a limit; -ENOMEM; or as pread
 * says.
 */
int core_file_init(struct core_file *core, int fd);
void core_file_deinit(struct core_file *core);

/** The segment that holds @address, dumped or not; NULL if none does. Borrowed. */
const struct core_segment *core_file_segment(const struct core_file *core, uint64_t address);

#endif
