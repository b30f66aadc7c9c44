/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names and lines of instruction sequences and methods in C, and a cache of them. An object is known by its address and
 * fingerprint (abi/ruby.h), and by what was read of it: what forks make apart from each other can agree in the rest.
 */
#ifndef INTERPRETERS_RUBY_RUBY_NAMES_H
#define INTERPRETERS_RUBY_RUBY_NAMES_H

#include "ebpf/abi/ruby.h"
#include "interpreters/ruby/ruby_label.h"
#include "interpreters/ruby/ruby_layout.h"
#include "interpreters/ruby/ruby_strings.h"
#include "lib/base/lru_cache.h"

enum {
	RUBY_NAMES_MAX_ENTRIES = 512,
	/** With the entries' own bytes. A table that does not fit is read again for each frame. */
	RUBY_NAMES_MAX_BYTES = 128 << 10,
};

struct ruby_name;

/** Of one process; one thread at a time. */
struct ruby_names {
	const struct ruby_layout *layout;
	/** What the kernel side makes fingerprints of. */
	struct ruby_process process;
	/** ruby_global_symbols in the process. */
	uint64_t symbols;
	struct lru_cache cache;
	/** What is too large for the cache; NULL or the answer of the last call. */
	struct ruby_name *uncached;
	/** Of the last name and file; for reading. */
	ruby_text name;
	ruby_text path;
	struct ruby_owner owner;
};

/** Borrows the layout, which is static. */
void ruby_names_init(struct ruby_names *names, const struct ruby_layout *layout,
		     const struct ruby_process *process, uint64_t symbols);
void ruby_names_deinit(struct ruby_names *names);

/** Fills the fields of @process that the kernel side reads sequences by. */
void ruby_names_describe(const struct ruby_layout *layout, struct ruby_process *process);

/** As language_ops.symbolize, but of the one frame: name, file and line. */
int ruby_names_symbolize(struct ruby_names *names, struct remote_memory *memory,
			 const uint64_t *words, uint32_t *object, struct interpreted_frame *frame);

#endif
