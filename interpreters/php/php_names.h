/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of functions, and a cache of them. A function is known by its address and fingerprint (abi/php.h), and by what was
 * read of it: what forks make apart from each other can agree in the rest. Lines are in the frames.
 *
 * A closure has a copy of its function in its object, and is often gone before it is named; so is the name of the file of
 * evaluated code. Then they have the name of another one with the same fingerprint, which covers all that makes the name, and
 * not where the function lies: one that was there, or the one that the function has in which the closure stands.
 */
#ifndef INTERPRETERS_PHP_PHP_NAMES_H
#define INTERPRETERS_PHP_PHP_NAMES_H

#include "ebpf/abi/php.h"
#include "interpreters/language.h"
#include "interpreters/php/php_layout.h"
#include "lib/base/lru_cache.h"

enum {
	PHP_NAMES_MAX_ENTRIES = 512,
	/** With the entries' own bytes. */
	PHP_NAMES_MAX_BYTES = 128 << 10,
	/** The same of what is freed while the program runs. */
	PHP_FREED_MAX_ENTRIES = 256,
	PHP_FREED_MAX_BYTES = 64 << 10,
	/** More closures of a function are not looked at, those within them counted in, nor such that are deeper in each other. */
	PHP_CLOSURES_MAX = 64,
	PHP_CLOSURES_MAX_DEPTH = 3,
};

/** Of one process; one thread at a time. */
struct php_names {
	const struct php_layout *layout;
	/** What the kernel side makes fingerprints of. */
	struct php_process process;
	struct lru_cache cache;
	/** Names of closures and of files without functions, by struct freed_key. */
	struct lru_cache freed;
	/** What is too large for the cache; NULL or the answer of the last call. */
	struct php_name *uncached;
	/** The name and the file that are being read. */
	char name[FRAME_NAME_MAX_BYTES + 1];
	char file[FRAME_NAME_MAX_BYTES + 1];
};

/** Borrows the layout, which is static. */
void php_names_init(struct php_names *names, const struct php_layout *layout,
		    const struct php_process *process);
void php_names_deinit(struct php_names *names);

/** Fills the fields of @process that the kernel side reads functions by. */
void php_names_describe(const struct php_layout *layout, struct php_process *process);

/** As language_ops.symbolize, but of the one frame: name, file and line. */
int php_names_symbolize(struct php_names *names, struct remote_memory *memory,
			const uint64_t words[2], uint32_t *object, struct interpreted_frame *frame);

#endif
