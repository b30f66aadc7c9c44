/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds names of subs and files, and caches them. A frame's code is identified by the addresses of its sub and of its file's
 * name, by its fingerprint (abi/perl.h), and by a hash of the names, because forks of a process may create different ones
 * that are equal in all of these. Lines are in the frames.
 *
 * A closure is often freed before its frame is named, and so is the name of the "file" of evaluated text. Such a frame gets
 * names that were read earlier with the same fingerprint, which covers everything in them but not the addresses, unless the
 * file's name is longer than what it covers. Else it has no file, if the sub is still there.
 */
#ifndef INTERPRETERS_PERL_PERL_NAMES_H
#define INTERPRETERS_PERL_PERL_NAMES_H

#include "ebpf/abi/perl.h"
#include "interpreters/language.h"
#include "interpreters/object_cache.h"
#include "interpreters/perl/perl_layout.h"

enum {
	PERL_NAMES_MAX_ENTRIES = 1024,
	/** Includes the overhead of entries. */
	PERL_NAMES_MAX_BYTES = 192 << 10,
};

/** State for one process; one thread at a time uses it. */
struct perl_names {
	const struct perl_layout *layout;
	/** As in struct perl_process. */
	bool has_file_globs;
	struct object_cache cache;
	/** Fingerprint -> names of what may be freed. */
	struct object_cache freed;
	/** Buffers for reading name and file. */
	char name[FRAME_NAME_MAX_BYTES + 1];
	char file[FRAME_NAME_MAX_BYTES + 1];
};

/** Borrows the layout, which is static. */
void perl_names_init(struct perl_names *names, const struct perl_layout *layout,
		     bool has_file_globs);
void perl_names_deinit(struct perl_names *names);

/** As language_ops.symbolize, for a single frame: name, file, line, and the line of the sub's first statement. */
int perl_names_symbolize(struct perl_names *names, struct remote_memory *memory,
			 const uint64_t words[3], uint32_t *object,
			 struct interpreted_frame *frame);

#endif
