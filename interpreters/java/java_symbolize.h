/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the methods of a HotSpot frame, including those that are inlined at its pc, and caches them. The two words
 * of a frame identify it (ebpf/abi/java.h). The words of compiled code are unique, since each compilation has its
 * own number, so nothing is read again for a cached frame. An interpreted method may be freed, and another one of
 * the same form may take its address. The words include how many classes had been unloaded and how often the
 * method's class had been redefined, so a cached frame is right as well. If a JVM does not count unloaded classes,
 * the method's identity is read again from time to time.
 */
#ifndef INTERPRETERS_JAVA_JAVA_SYMBOLIZE_H
#define INTERPRETERS_JAVA_JAVA_SYMBOLIZE_H

#include "interpreters/java/java_layout.h"
#include "interpreters/java/java_names.h"
#include "interpreters/java/java_scopes.h"
#include "interpreters/language.h"
#include "lib/base/clock.h"
#include "lib/base/lru_cache.h"
#include "lib/base/text_builder.h"

enum {
	/** javac has some 12,000 in its first half minute, of 200 bytes each. */
	JAVA_CACHE_MAX_ENTRIES = 1 << 15,
	/** Includes 64 bytes of overhead for each entry. */
	JAVA_CACHE_MAX_BYTES = 4 << 20,
	/** Limit for all processes together; beyond it each may still have JAVA_CACHE_MIN_BYTES. */
	JAVA_CACHE_TOTAL_BYTES = 8 << 20,
	JAVA_CACHE_MIN_BYTES = 512 << 10,
};

/**
 * How long the identity of an interpreted method is trusted if unloaded classes are not counted. Samples wait in
 * their ring for longer, so a method that was freed and replaced so quickly may get a wrong name in any case.
 */
#define JAVA_LOOK_NS (50 * NS_PER_MS)
/** Cached frames that were not used for so long are dropped when others are looked up. */
#define JAVA_CACHE_AGE_NS (120 * NS_PER_SECOND)

/** State for one process; one thread at a time uses it. */
struct java_symbolizer {
	struct java_layout layout;
	/** Address in the process of the counter of unloaded classes; 0: there is none. */
	uint64_t unloads;
	bool with_signatures;
	/** NULL: not available. */
	runtime_find_jump *find_jump;
	/** The two words -> struct java_cached_frame. */
	struct lru_cache cache;
	/** Size of `cache` that is included in the sum of all processes. */
	size_t counted_bytes;
	uint64_t next_age_ns;
	/** The answer of the last call if it was too large for the cache, else NULL. */
	struct java_cached_frame *uncached;
	/** Buffers for reading. */
	struct java_scopes scopes;
	struct text_builder texts;
	java_text text;
};

/**
 * The layout is copied. @unloads, @find_jump: as in the struct. @with_signatures: names include the types of
 * arguments and result.
 */
void java_symbolizer_init(struct java_symbolizer *symbolizer, const struct java_layout *layout,
			  uint64_t unloads, bool with_signatures, runtime_find_jump *find_jump);
void java_symbolizer_deinit(struct java_symbolizer *symbolizer);

/** As language_ops.symbolize. @now_ns: clock_monotonic_ns(). */
int java_symbolize(struct java_symbolizer *symbolizer, struct remote_memory *memory,
		   const uint64_t words[2], uint64_t now_ns, struct interpreted_frames *frames);

#endif
