/* SPDX-License-Identifier: Apache-2.0 */
/** Finds the functions, files, lines and columns of a frame from the kernel side (ebpf/abi/javascript.h), and caches them. */
#ifndef INTERPRETERS_JAVASCRIPT_JAVASCRIPT_SYMBOLIZE_H
#define INTERPRETERS_JAVASCRIPT_JAVASCRIPT_SYMBOLIZE_H

#include "interpreters/javascript/v8_builtins.h"
#include "interpreters/javascript/v8_frames.h"
#include "interpreters/language.h"
#include "lib/base/clock.h"
#include "lib/base/lru_cache.h"
#include "lib/base/text_builder.h"

enum {
	/** Limit for one process. */
	JAVASCRIPT_FRAMES_MAX_ENTRIES = 1 << 15,
	/** Includes 64 bytes of overhead for each entry. */
	JAVASCRIPT_FRAMES_MAX_BYTES = 4 << 20,
	JAVASCRIPT_SCRIPTS_MAX_ENTRIES = 256,
	/** Limit of cached lines. */
	JAVASCRIPT_SCRIPTS_MAX_BYTES = 4 << 20,
	JAVASCRIPT_MODULES_MAX_ENTRIES = 64,
	/** Limit of cached offsets of names in modules of WebAssembly. */
	JAVASCRIPT_MODULES_MAX_BYTES = 4 << 20,
};

/** Cached frames and lines that were not used for so long are dropped when others are looked up. */
#define JAVASCRIPT_CACHE_AGE_NS (120 * NS_PER_SECOND)

/** State for one process; one thread at a time uses it. */
struct javascript_symbolizer {
	/** Both are borrowed. */
	const struct v8_layout *layout;
	const struct v8_builtins *builtins;
	/** The two words -> struct cached_frame. */
	struct lru_cache frames;
	/** struct script_key -> struct v8_lines. */
	struct lru_cache scripts;
	/** struct module_key -> struct v8_wasm_names. */
	struct lru_cache modules;
	uint64_t next_age_ns;
	/** Buffers for reading. */
	struct v8_frame_functions functions;
	struct text_builder texts;
};

void javascript_symbolizer_init(struct javascript_symbolizer *symbolizer,
				const struct v8_layout *layout, const struct v8_builtins *builtins);
void javascript_symbolizer_deinit(struct javascript_symbolizer *symbolizer);

/** As language_ops.symbolize. @now_ns: clock_monotonic_ns(). */
int javascript_symbolize(struct javascript_symbolizer *symbolizer, struct remote_memory *memory,
			 const uint64_t words[2], uint64_t now_ns,
			 struct interpreted_frames *frames);

#endif
