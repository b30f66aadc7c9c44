/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The methods that a frame of HotSpot is of, with all that are inlined at its place, and a cache of them. A
 * frame is known by its two words (ebpf/abi/java.h). What they were is believed as long as the code that
 * they name is there: an nmethod keeps all methods that are inlined in it alive, a frame of the
 * interpreter has a method of its own.
 */
#ifndef INTERPRETERS_JAVA_JAVA_SYMBOLIZE_H
#define INTERPRETERS_JAVA_JAVA_SYMBOLIZE_H

#include "agent/base/lru_cache.h"
#include "agent/base/text_builder.h"
#include "interpreters/interpreter.h"
#include "interpreters/java/java_layout.h"
#include "interpreters/java/java_names.h"
#include "interpreters/java/java_scopes.h"

enum {
	JAVA_PLACES_MAX_ENTRIES = 4096,
	/** With the entries' own 64 bytes. A place has 2 to 5 methods, of some 80 bytes each. */
	JAVA_PLACES_MAX_BYTES = 512 << 10,
};

/** Of one process; one thread at a time. */
struct java_symbolizer {
	struct java_layout layout;
	/** The two words -> struct java_place. */
	struct lru_cache places;
	/** What is too large for the cache; NULL or the answer of the last call. */
	struct java_place *uncached;
	/** For reading. */
	struct java_scopes scopes;
	struct text_builder texts;
	java_text text;
};

/** The layout is copied. */
void java_symbolizer_init(struct java_symbolizer *symbolizer, const struct java_layout *layout);
void java_symbolizer_deinit(struct java_symbolizer *symbolizer);

/** As interpreter_ops.symbolize. */
int java_symbolize(struct java_symbolizer *symbolizer, struct remote_memory *memory,
		   const uint64_t words[2], struct interpreted_frames *frames);

#endif
