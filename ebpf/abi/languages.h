/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The one list of languages whose frames are unwound. All code that is specific to a language is generated from it.
 * A new row goes to the end. The Makefile
 * reads the rows too, so each is one line.
 *
 *	kind	number in raw frames, from FRAME_FIRST_INTERPRETED on, never used again
 *	NAME, name	for identifiers and the language's folders; users write name
 *	type	its frames' profile.frame.type in OTLP
 *	frames	the kind of code that runs its functions: an enum language_frames without LANGUAGE_
 *	files	endings of its source files' names, by which the language of frames in opened profiles is found
 */
#ifndef EBPF_ABI_LANGUAGES_H
#define EBPF_ABI_LANGUAGES_H

/* clang-format off */
#define LANGUAGES(X) \
	X(17, GO, go, "go", NATIVE, ".go") \
	X(16, PYTHON, python, "cpython", LOOP, ".py") \
	X(18, JAVA, java, "jvm", OWN_CODE, ".java .kt .scala .clj .groovy") \
	X(19, JAVASCRIPT, javascript, "v8js", OWN_CODE, ".js .mjs .cjs .ts") \
	X(20, RUBY, ruby, "ruby", LOOP_WITH_STACKS, ".rb") \
	X(21, PHP, php, "php", LOOP_WITH_STACKS, ".php") \
	X(22, PERL, perl, "perl", LOOP, ".pl .pm .t")
/* clang-format on */

enum language_frames {
	/** Native code in files: its frames are native ones; its unwinder handles switches of stacks. */
	LANGUAGE_NATIVE,
	/** A loop in the runtime's C code. */
	LANGUAGE_LOOP,
	/** Such a loop, and code that the runtime generates and the loop calls. */
	LANGUAGE_LOOP_WITH_CODE,
	/** As LANGUAGE_LOOP_WITH_CODE; it also runs C functions on stacks that it makes, where its loop need not be. */
	LANGUAGE_LOOP_WITH_STACKS,
	/** Code that the runtime has generated, outside every file. */
	LANGUAGE_OWN_CODE,
};

/** In the order of the rows. */
enum language_index {
#define X(kind, NAME, name, type, frames, files) LANGUAGE_INDEX_##NAME,
	LANGUAGES(X)
#undef X
		LANGUAGE_COUNT,
};

#endif
