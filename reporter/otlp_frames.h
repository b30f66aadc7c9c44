/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Traces as entries of an OTLP dictionary: stacks, locations, mappings and functions.
 *
 *	frame		profile.frame.type	mapping			lines
 *	native		native			the file		by lookup, else none
 *	native, of Go	go			the file		by lookup, else none
 *	run-time code	native			[anonymous]		the function, if it has a name
 *	kernel		kernel			vmlinux, the module	the function, if it has a name
 *	interpreted	cpython, jvm		none			function, file and line
 *	error		abort-marker		none			[error: why], [truncated]
 *
 * The address of an error is its unwind_error_number(). Other addresses are ELF virtual addresses; for the kernel and its modules an offset from the start of
 * their text (_text), and for BPF programs and the like one in the function, since the kernel's addresses
 * are nobody's business. For a caller it is the address of the call. The function name of a guessed frame ends in `_[?]`; a guessed frame
 * without a name has the attribute allframes.frame.guess = true. Functions that are inlined at an
 * address, or into an interpreted function, are lines of one location, innermost first. If the
 * runtime knows only the nearest functions and lines, the location has the attribute
 * allframes.frame.approximate = true. Files are identified by process.executable.build_id.gnu and
 * .htlhash of their mapping, both in hexadecimal, and Go's files by .go, which is a text.
 */
#ifndef REPORTER_OTLP_FRAMES_H
#define REPORTER_OTLP_FRAMES_H

#include "lib/base/hash_map.h"
#include "lib/model/symbol_lookup.h"
#include "lib/model/trace.h"
#include "reporter/otlp_dictionary.h"

/** Owner: the thread that builds. Caches traces and binaries by address: they must outlive this. */
struct otlp_frames {
	/** Borrowed, like lookup, which may be NULL. */
	struct otlp_dictionary *dictionary;
	struct symbol_lookup *lookup;
	/** Maps the address of a trace to the id of its stack. */
	struct hash_map stacks;
	/** Maps the address of a binary to its number (from 0) << 32 | the id of its mapping. */
	struct hash_map binaries;
	/** Maps a frame's key, a number if that is enough, to the id of its location. */
	struct hash_map locations;
	/** The binary of the last look-up, and its entry. */
	const struct binary *last_binary;
	uint64_t last_binary_entry;
	struct number_vector stack;
	struct number_vector lines;
	/** Ids of strings and attributes that are used often. */
	uint32_t type_key;
	uint32_t native_type;
	uint32_t kernel_type;
	uint32_t build_id_key;
	uint32_t file_id_key;
	uint32_t guess_attribute;
	uint32_t approximate_attribute;
};

void otlp_frames_init(struct otlp_frames *frames, struct otlp_dictionary *dictionary,
		      struct symbol_lookup *lookup);
void otlp_frames_deinit(struct otlp_frames *frames);

/** The id of the stack of @trace. Errors are kept in the dictionary. */
uint32_t otlp_frames_stack(struct otlp_frames *frames, const struct trace *trace);

#endif
