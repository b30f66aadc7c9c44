/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds names and lines of code objects, and caches them. A code object is identified by its address and fingerprint
 * (abi/python.h), so another object at the same address has an entry of its own. A hash of its contents is part of the
 * identity too, because forks of a process may create different objects with the same address and fingerprint.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_CODE_H
#define INTERPRETERS_PYTHON_PYTHON_CODE_H

#include "ebpf/abi/python.h"
#include "interpreters/object_cache.h"
#include "interpreters/python/python_layouts.h"
#include "interpreters/python/python_strings.h"

enum {
	PYTHON_CODE_CACHE_MAX_ENTRIES = 512,
	/** Includes OBJECT_CACHE_ENTRY_BYTES for each entry. */
	PYTHON_CODE_CACHE_MAX_BYTES = 128 << 10,
	/** Larger line tables are read again for each frame. */
	PYTHON_LINE_TABLE_CACHED_BYTES = 16 << 10,
	PYTHON_LINE_TABLE_MAX_BYTES = 1 << 20,
};

/** State for one process; one thread at a time uses it. */
struct python_code_cache {
	struct python_layout layout;
	/** The code_ fields give the words that the kernel side makes fingerprints of. */
	struct python_process process;
	struct object_cache codes;
	/** Buffer for reading names. */
	python_text text;
};

/** Copies both structs. */
void python_code_cache_init(struct python_code_cache *cache, const struct python_layout *layout,
			    const struct python_process *process);
void python_code_cache_deinit(struct python_code_cache *cache);

/**
 * Fills the code_ fields of @process, which describe the fingerprint; -EOPNOTSUPP if the words are too far apart.
 */
int python_code_describe(const struct python_layout *layout, struct python_process *process);

/** Computes the fingerprint of the code object at @address as the kernel side does. */
int python_code_read_fingerprint(const struct python_code_cache *cache,
				 struct remote_memory *memory, uint64_t address,
				 uint32_t *fingerprint);

/** As language_ops.symbolize, for a single frame: name, file and line. */
int python_code_symbolize(struct python_code_cache *cache, struct remote_memory *memory,
			  const uint64_t words[2], uint32_t *object,
			  struct interpreted_frame *frame);

#endif
