/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A binary: what the outputs need to know of an executable file, the kernel or a kernel module,
 * for as long as a trace refers to it, even when the processes and the file are gone.
 */
#ifndef LIB_MODEL_BINARY_H
#define LIB_MODEL_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/file_key.h"
#include "lib/model/held_file.h"
#include "lib/model/languages.h"
#include "lib/model/program_facts.h"

/** The outward name of a file (lib/host/file_id.h); never a key inside the agent. */
struct file_id {
	uint8_t bytes[16];
};

enum { BUILD_ID_MAX_BYTES = 64 };

/**
 * Immutable after binary_create(), but for the file, and shared between threads by reference count
 * (atomic).
 */
struct binary {
	uint64_t executable_id;
	struct file_id file_id;
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint32_t build_id_bytes;
	/** Facts that the file states about itself; NULL if there are none. */
	const struct program_facts *facts;
	bool is_kernel;
	/**
	 * The binary comes from a profile that was read, perhaps one of another machine. No file of this
	 * machine may be taken for it.
	 */
	bool is_elsewhere;
	/** No binary, but the code of a profile's frames whose binary is not known. Outputs have no mapping for it. */
	bool is_nowhere;
	/**
	 * From the first executable segment to the end of the last: ELF virtual addresses and the
	 * file offset of the first; for the kernel and its modules from 0 to the size of their text. For pprof and
	 * OTLP mappings.
	 */
	uint64_t memory_start;
	uint64_t memory_limit;
	uint64_t file_offset;
	/**
	 * Readable file descriptor (regular file or sealed copy), owned; -1 if there is none at the moment or
	 * at all. The functions of lib/host/binary_file.h use it.
	 */
	int fd;
	/**
	 * Replaces fd where the file system may never answer: one reference; NULL if there is none at the
	 * moment or at all.
	 */
	struct held_file *held;
	/**
	 * Number of readers of the descriptor, and whether the descriptor is to be closed or was closed because
	 * no process runs the file.
	 */
	uint32_t reader_count;
	bool is_let_go;
	/** The file was not found at its path. It is not searched for again before this time (CLOCK_MONOTONIC). */
	uint64_t no_search_ns;
	/** The state of the file; all 0 if the file has no path at which it could be found again. */
	struct file_key key;
	/** The file's file system may never answer. */
	bool may_hang;
	/** Path as the process saw it, without " (deleted)"; "[vdso]" and the like for special binaries. */
	char *path;
	unsigned int references;
};

/**
 * Copies *@values with one reference; takes over @values->fd and @values->held, copies the path and the facts.
 * NULL without memory; then the caller still owns both.
 */
struct binary *binary_create(const struct binary *values);
struct binary *binary_ref(struct binary *binary);
void binary_unref(struct binary *binary);

/**
 * A number that is equal for all binaries of one file. No other file ever gets it, since executable ids are not
 * reused. Kernel binaries have no such id; their number is their address, and they stay in memory.
 */
uint64_t binary_identity(const struct binary *binary);

/** Whether the binary has native code of the language @kind that the language's own tables describe. */
static inline bool binary_has_code_of(const struct binary *binary, uint8_t kind)
{
	return binary->facts && binary->facts->languages & language_bit(kind);
}

/** Bytes of memory that the binary takes. */
size_t binary_bytes(const struct binary *binary);

/** The part of the path behind the last slash. */
const char *binary_name(const struct binary *binary);

#endif
