/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the chunk of code (CodeBlob) of an address in HotSpot's code cache. The code cache has one or a few
 * heaps. Each heap has a segment map with a byte for each segment of some 64 to 128 bytes; the bytes lead back
 * to the first segment of a block. The kernel side looks code up in the same way (ebpf/).
 *
 * Source: share/memory/heap.cpp (CodeHeap::find_block_for) and share/code/codeBlob.hpp, nmethod.hpp
 * of OpenJDK 8 to 27.
 *
 * The program changes the code cache while it is read, and may forge it: any bytes are accepted.
 */
#ifndef INTERPRETERS_JAVA_JAVA_CODE_H
#define INTERPRETERS_JAVA_JAVA_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "interpreters/java/java_layout.h"
#include "lib/host/remote_memory.h"

enum {
	/** HotSpot has one or three; later versions may have more. */
	JAVA_MAX_HEAPS = 8,
	/** Most segments that one entry leads back; 255 marks a segment without code. */
	JAVA_MAX_HOP = 254,
	JAVA_FREE_SEGMENT = 255,
	/** Limit of entries to follow back in a map; enough for blocks of 4 MiB. */
	JAVA_MAX_HOPS = 512,
	JAVA_BLOB_NAME_BYTES = 64,
};

/** Addresses of a heap in the process. They stay the same while the process runs, except `committed`. */
struct java_heap {
	/** The reserved range [low, high), within which the committed part grows. */
	uint64_t low;
	uint64_t high;
	/** End of the committed part at the time of reading. */
	uint64_t committed;
	uint64_t segment_map;
	uint32_t log2_segment_size;
};

struct java_heaps {
	struct java_heap heaps[JAVA_MAX_HEAPS];
	uint32_t count;
};

/** A chunk of code: a compiled method (nmethod), or code of the runtime. */
struct java_blob {
	uint64_t address;
	/** The executable part: instructions, then their stubs. */
	uint64_t code_start;
	uint64_t code_end;
	/** Size of the frame, including the return address; 0: no frame, or each stub has its own. */
	uint32_t frame_bytes;
	/** Offset from code_start at which the frame is complete; negative or very large: never. */
	int32_t frame_complete;
	bool is_nmethod;
};

struct java_nmethod {
	/** Address of the Method. */
	uint64_t method;
	/** Unique among compiled methods, except that an option of the JVM counts OSR apart. */
	uint32_t compile_id;
	/** -1 for an entry at the method's start, else the bytecode index of the entry (OSR). */
	int32_t entry_bci;
	/** 1 to 3: C1; 4: C2. */
	uint32_t comp_level;
	int32_t state;
};

/** -EAGAIN: the JVM has made no code yet; -EBADMSG, -E2BIG, -EFAULT, -ESRCH. */
int java_heaps_read(const struct java_layout *layout, struct remote_memory *memory,
		    struct java_heaps *heaps);

/** -ENOENT: there is no code at @address; -EBADMSG, -EFAULT, -ESRCH. */
int java_blob_find(const struct java_layout *layout, const struct java_heaps *heaps,
		   struct remote_memory *memory, uint64_t address, struct java_blob *blob);

/** Reads the blob that begins at @address, which an earlier call has found. */
int java_blob_find_at(const struct java_layout *layout, struct remote_memory *memory,
		      uint64_t address, struct java_blob *blob);

/** Reads the runtime's name of the blob, cut to size: "nmethod", "Interpreter", "StubRoutines (1)", ... */
int java_blob_name(const struct java_layout *layout, struct remote_memory *memory,
		   const struct java_blob *blob, char name[JAVA_BLOB_NAME_BYTES]);

/** Reads the nmethod at @blob, which must be one. */
int java_nmethod_read(const struct java_layout *layout, struct remote_memory *memory,
		      const struct java_blob *blob, struct java_nmethod *nmethod);

#endif
