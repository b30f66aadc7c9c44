/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names and lines of code objects, and a cache of them. A code object is known by its address and
 * fingerprint (abi/python.h), so that one that took the place of another has its own entry, and by
 * what was read of it: what forks make apart from each other can agree in all of the rest.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_CODE_H
#define INTERPRETERS_PYTHON_PYTHON_CODE_H

#include "ebpf/abi/python.h"
#include "interpreters/python/python_layouts.h"
#include "interpreters/python/python_strings.h"
#include "lib/base/lru_cache.h"

enum {
	PYTHON_CODE_CACHE_MAX_ENTRIES = 512,
	/** With the entries' own 48 bytes. */
	PYTHON_CODE_CACHE_MAX_BYTES = 128 << 10,
	/** Larger line tables are read again for each frame. */
	PYTHON_LINE_TABLE_CACHED_BYTES = 16 << 10,
	PYTHON_LINE_TABLE_MAX_BYTES = 1 << 20,
};

/** Of one process; one thread at a time. */
struct python_code_cache {
	struct python_layout layout;
	/** What the kernel side makes fingerprints of: the code_ fields. */
	struct python_process process;
	struct lru_cache codes;
	/** What is too large for the cache; NULL or the answer of the last call. */
	struct python_code *uncached;
	/** Of the last name; for reading. */
	python_text text;
};

/** Borrows nothing: both structs are copied. */
void python_code_cache_init(struct python_code_cache *cache, const struct python_layout *layout,
			    const struct python_process *process);
void python_code_cache_deinit(struct python_code_cache *cache);

/**
 * Fills the code_ fields of @process that the fingerprint is made by; -EOPNOTSUPP if they lie too
 * far apart.
 */
int python_code_describe(const struct python_layout *layout, struct python_process *process);

/** The fingerprint of the code object at @address as the kernel side makes it. */
int python_code_read_fingerprint(const struct python_code_cache *cache,
				 struct remote_memory *memory, uint64_t address,
				 uint32_t *fingerprint);

/** As language_ops.symbolize, but of the one frame: name, file and line. */
int python_code_symbolize(struct python_code_cache *cache, struct remote_memory *memory,
			  const uint64_t words[2], uint32_t *object,
			  struct interpreted_frame *frame);

#endif
