/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds names and lines of instruction sequences and methods in C, and caches them. An object is identified by its
 * address and fingerprint (abi/ruby.h), and by a hash of its contents, because forks of a process may create different
 * objects with the same address and fingerprint.
 */
#ifndef INTERPRETERS_RUBY_RUBY_NAMES_H
#define INTERPRETERS_RUBY_RUBY_NAMES_H

#include "ebpf/abi/ruby.h"
#include "interpreters/object_cache.h"
#include "interpreters/ruby/ruby_label.h"
#include "interpreters/ruby/ruby_layout.h"
#include "interpreters/ruby/ruby_strings.h"

enum {
	RUBY_NAMES_MAX_ENTRIES = 512,
	/** Includes the overhead of entries. A table that does not fit is read again for each frame. */
	RUBY_NAMES_MAX_BYTES = 128 << 10,
};

struct ruby_name;

/** State for one process; one thread at a time uses it. */
struct ruby_names {
	const struct ruby_layout *layout;
	/** Describes the words that the kernel side makes fingerprints of. */
	struct ruby_process process;
	/** Address of ruby_global_symbols in the process. */
	uint64_t symbols;
	struct object_cache cache;
	/** Buffers for reading name and file. */
	ruby_text name;
	ruby_text path;
	struct ruby_owner owner;
};

/** Borrows the layout, which is static. */
void ruby_names_init(struct ruby_names *names, const struct ruby_layout *layout,
		     const struct ruby_process *process, uint64_t symbols);
void ruby_names_deinit(struct ruby_names *names);

/** Fills the fields of @process that the kernel side needs to read sequences. */
void ruby_names_describe(const struct ruby_layout *layout, struct ruby_process *process);

/** As language_ops.symbolize, for a single frame: name, file and line. */
int ruby_names_symbolize(struct ruby_names *names, struct remote_memory *memory,
			 const uint64_t *words, uint32_t *object, struct interpreted_frame *frame);

#endif
