/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds names of functions, and caches them. A function is identified by its address and fingerprint (abi/php.h), and by
 * a hash of its contents, because forks of a process may create different functions with the same address and
 * fingerprint. Lines are in the frames.
 *
 * A closure has a copy of its function in its object, which is often freed before the frame is named; so is the file
 * name of evaluated code. Such a frame gets the name of another object with the same fingerprint, which covers
 * everything in the name but not the address: a closure that was read earlier, or the original in the function that
 * declares it.
 */
#ifndef INTERPRETERS_PHP_PHP_NAMES_H
#define INTERPRETERS_PHP_PHP_NAMES_H

#include "ebpf/abi/php.h"
#include "interpreters/language.h"
#include "interpreters/object_cache.h"
#include "interpreters/php/php_layout.h"

enum {
	PHP_NAMES_MAX_ENTRIES = 512,
	/** Includes the overhead of entries. */
	PHP_NAMES_MAX_BYTES = 128 << 10,
	/** The same limits for closures and file names, which are freed while the program runs. */
	PHP_FREED_MAX_ENTRIES = 256,
	PHP_FREED_MAX_BYTES = 64 << 10,
	/** Limits of the closures of a function that are read, nested ones included, and of their nesting. */
	PHP_CLOSURES_MAX = 64,
	PHP_CLOSURES_MAX_DEPTH = 3,
};

/** State for one process; one thread at a time uses it. */
struct php_names {
	const struct php_layout *layout;
	/** Describes the words that the kernel side makes fingerprints of. */
	struct php_process process;
	struct object_cache cache;
	/** struct freed_key -> name of a closure, or of a file without a function. */
	struct object_cache freed;
	/** Buffers for reading name and file. */
	char name[FRAME_NAME_MAX_BYTES + 1];
	char file[FRAME_NAME_MAX_BYTES + 1];
};

/** Borrows the layout, which is static. */
void php_names_init(struct php_names *names, const struct php_layout *layout,
		    const struct php_process *process);
void php_names_deinit(struct php_names *names);

/** Fills the fields of @process that the kernel side needs to read functions. */
void php_names_describe(const struct php_layout *layout, struct php_process *process);

/** As language_ops.symbolize, for a single frame: name, file and line. */
int php_names_symbolize(struct php_names *names, struct remote_memory *memory,
			const uint64_t *words, uint32_t *object, struct interpreted_frame *frame);

#endif
