/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The languages whose frames are walked: the one list of them, of which everything is made that knows languages one
 * by one. Rows are in the order in which their unwinders are loaded, those that load fast first; a new one goes to
 * the end. The Makefile reads the rows, too: one a line.
 *
 *	kind	number in raw frames, from FRAME_FIRST_INTERPRETED on, given once
 *	NAME, name	for identifiers, and the language's folders; name is what users write
 *	type	its frames' profile.frame.type in OTLP
 *	frames	what runs its functions, of enum language_frames without LANGUAGE_
 *	files	how names of its source files end, by which frames of opened profiles are told
 */
#ifndef EBPF_ABI_LANGUAGES_H
#define EBPF_ABI_LANGUAGES_H

/* clang-format off */
#define LANGUAGES(X) \
	X(17, GO, go, "go", NATIVE, ".go") \
	X(16, PYTHON, python, "cpython", LOOP, ".py") \
	X(18, JAVA, java, "jvm", OWN_CODE, ".java .kt .scala .clj .groovy") \
	X(19, JAVASCRIPT, javascript, "v8js", OWN_CODE, ".js .mjs .cjs .ts") \
	X(20, RUBY, ruby, "ruby", LOOP, ".rb") \
	X(21, PHP, php, "php", LOOP, ".php")
/* clang-format on */

enum language_frames {
	/** Native code in files: its frames are native ones, and the language knows how stacks go on. */
	LANGUAGE_NATIVE,
	/** A loop in C of the runtime. */
	LANGUAGE_LOOP,
	/** Code that the runtime has made, in no file. */
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
