/* SPDX-License-Identifier: Apache-2.0 */
/**
 * HotSpot's code cache: which piece of code (CodeBlob) an address lies in. Code lies in up to a few
 * heaps; each has a map with a byte for each segment of some 64 to 128 bytes, which leads back to the
 * first segment of a block. The kernel side looks code up in the same way (ebpf/).
 *
 * Source: share/memory/heap.cpp (CodeHeap::find_block_for) and share/code/codeBlob.hpp, nmethod.hpp
 * of OpenJDK 8 to 27.
 *
 * It is read while the program runs and changes it, and may be forged: any bytes are fine.
 */
#ifndef INTERPRETERS_JAVA_JAVA_CODE_H
#define INTERPRETERS_JAVA_JAVA_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "interpreters/java/java_layout.h"
#include "lib/host/remote_memory.h"

enum {
	/** One or three, or some more in versions to come. */
	JAVA_MAX_HEAPS = 8,
	/** An entry leads back by at most that; 255 stands for a segment without code. */
	JAVA_MAX_HOP = 254,
	JAVA_FREE_SEGMENT = 255,
	/** Of the way back in a map: blocks of 4 MiB are found. */
	JAVA_MAX_HOPS = 512,
	JAVA_BLOB_NAME_BYTES = 64,
};

/** What stays the same while the process runs; addresses in it. */
struct java_heap {
	/** Reserved: [low, high); what is committed grows within. */
	uint64_t low;
	uint64_t high;
	/** Where what had been committed of it ended when this was read. */
	uint64_t committed;
	uint64_t segment_map;
	uint32_t log2_segment_size;
};

struct java_heaps {
	struct java_heap heaps[JAVA_MAX_HEAPS];
	uint32_t count;
};

/** A piece of code: of a compiled method (nmethod), or of the runtime's. */
struct java_blob {
	uint64_t address;
	/** What executes: instructions, then stubs of theirs. */
	uint64_t code_start;
	uint64_t code_end;
	/** Of the frame, the return address counted in; 0: it has none, or each stub its own. */
	uint32_t frame_bytes;
	/** From code_start: where the frame has been made; negative or very large: never. */
	int32_t frame_complete;
	bool is_nmethod;
};

struct java_nmethod {
	/** Of a Method. */
	uint64_t method;
	/** Unique among methods that were compiled, but counted apart for OSR if the JVM is told to. */
	uint32_t compile_id;
	/** -1 if it was entered at its beginning, else where in its bytecodes (OSR). */
	int32_t entry_bci;
	/** 1 to 3: C1; 4: C2 */
	uint32_t comp_level;
	int32_t state;
};

/** -EAGAIN: the JVM has made no code yet; -EBADMSG, -E2BIG, -EFAULT, -ESRCH. */
int java_heaps_read(const struct java_layout *layout, struct remote_memory *memory,
		    struct java_heaps *heaps);

/** -ENOENT: there is no code at @address; -EBADMSG, -EFAULT, -ESRCH. */
int java_blob_find(const struct java_layout *layout, const struct java_heaps *heaps,
		   struct remote_memory *memory, uint64_t address, struct java_blob *blob);

/** The one that begins at @address, as such an address was found before. */
int java_blob_find_at(const struct java_layout *layout, struct remote_memory *memory,
		      uint64_t address, struct java_blob *blob);

/** The name that the runtime gave it, cut: "nmethod", "Interpreter", "StubRoutines (1)", ... */
int java_blob_name(const struct java_layout *layout, struct remote_memory *memory,
		   const struct java_blob *blob, char name[JAVA_BLOB_NAME_BYTES]);

/** Of a blob that is one. */
int java_nmethod_read(const struct java_layout *layout, struct remote_memory *memory,
		      const struct java_blob *blob, struct java_nmethod *nmethod);

#endif
