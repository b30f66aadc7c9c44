/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The methods that a frame of HotSpot is of, with all that are inlined at its place, and a cache of them. A
 * frame is known by its two words (ebpf/abi/java.h). Those of compiled code are no other code's, whatever
 * becomes of it: no two compilations have the same number, and nothing is read for what was named before.
 * A method of the interpreter may have been freed, and another one of its form lie in its place: the words
 * hold how many classes had been unloaded then, and how often its own had been redefined, and what was named
 * before is right as well. In a JVM that does not count the former, whose it is is looked up again, but not in
 * each stack.
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
	/** A compiler of Java has some 12,000 in its first half minute, of 200 bytes each. */
	JAVA_PLACES_MAX_ENTRIES = 1 << 15,
	/** With the entries' own 64 bytes. */
	JAVA_PLACES_MAX_BYTES = 4 << 20,
	/** Of all processes; beyond it each has JAVA_PLACES_MIN_BYTES. */
	JAVA_PLACES_TOTAL_BYTES = 8 << 20,
	JAVA_PLACES_MIN_BYTES = 512 << 10,
};

/**
 * So long a look at an interpreted method is believed where unloaded classes are not counted. Samples lie in
 * their ring for longer, so that what was freed and made again as quickly may have the wrong name in any case.
 */
#define JAVA_LOOK_NS (50 * NS_PER_MS)
/** Places that were not asked for so long are let go, when others are asked for. */
#define JAVA_PLACES_AGE_NS (120 * NS_PER_SECOND)

/** Of one process; one thread at a time. */
struct java_symbolizer {
	struct java_layout layout;
	/** The address in the process where it counts the classes that it has unloaded; 0: it does not. */
	uint64_t unloads;
	bool with_signatures;
	/** NULL: nobody can. */
	runtime_find_jump *find_jump;
	/** The two words -> struct java_place. */
	struct lru_cache places;
	/** Of `places`, as counted in the sum of all processes. */
	size_t counted_bytes;
	uint64_t next_age_ns;
	/** What is too large for the cache; NULL or the answer of the last call. */
	struct java_place *uncached;
	/** For reading. */
	struct java_scopes scopes;
	struct text_builder texts;
	java_text text;
};

/**
 * The layout is copied. @unloads, @find_jump: as in the struct. @with_signatures: names have the types of arguments
 * and result.
 */
void java_symbolizer_init(struct java_symbolizer *symbolizer, const struct java_layout *layout,
			  uint64_t unloads, bool with_signatures, runtime_find_jump *find_jump);
void java_symbolizer_deinit(struct java_symbolizer *symbolizer);

/** As language_ops.symbolize. @now_ns: clock_monotonic_ns(). */
int java_symbolize(struct java_symbolizer *symbolizer, struct remote_memory *memory,
		   const uint64_t words[2], uint64_t now_ns, struct interpreted_frames *frames);

#endif
