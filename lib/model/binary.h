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
	/** NULL if it says nothing. */
	const struct program_facts *facts;
	bool is_kernel;
	/** Told by a profile that was read, and perhaps of another machine: nothing here is to be taken for it. */
	bool is_elsewhere;
	/**
	 * From the first executable segment to the end of the last: ELF virtual addresses and the
	 * file offset of the first. For pprof and OTLP mappings.
	 */
	uint64_t memory_start;
	uint64_t memory_limit;
	uint64_t file_offset;
	/**
	 * Readable file descriptor (regular file or sealed copy), owned; -1 if there is none, or not now. It
	 * is used by the functions of lib/host/binary_file.h.
	 */
	int fd;
	/** The file instead, where its file system may never answer: a reference; NULL if there is none, or not now. */
	struct held_file *held;
	/** Who reads by the descriptor now; and that it is to be closed, or was, since nobody runs the file. */
	uint32_t reader_count;
	bool is_let_go;
	/** CLOCK_MONOTONIC: it was not at its path and is not looked for before. */
	uint64_t no_search_ns;
	/** The state of the file; all 0 if it has no path by which it could be found again. */
	struct file_key key;
	/** The file system of it may never answer. */
	bool may_hang;
	/** As the process saw it, without " (deleted)"; "[vdso]" and the like for special ones. */
	char *path;
	unsigned int references;
};

/**
 * Copies *@values with one reference; takes over @values->fd and @values->held, copies the path and the
 * facts. NULL without memory: then both are still the caller's.
 */
struct binary *binary_create(const struct binary *values);
struct binary *binary_ref(struct binary *binary);
void binary_unref(struct binary *binary);

/**
 * The same for all binaries that stand for one file, and no other's even when they are gone, since ids of files are
 * not used again; the kernel's, which have none, stay.
 */
uint64_t binary_identity(const struct binary *binary);

/** Whether there is native code of the language @kind in it, of which the language's own tables tell. */
static inline bool binary_has_code_of(const struct binary *binary, uint8_t kind)
{
	return binary->facts && binary->facts->languages & language_bit(kind);
}

/** What it takes in memory. */
size_t binary_bytes(const struct binary *binary);

/** The part of the path behind the last slash. */
const char *binary_name(const struct binary *binary);

#endif
