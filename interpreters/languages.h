/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Texts that users read about each language of ebpf/abi/languages.h. There is a row for each, in any order.
 *
 *	NAME	the name of its row there
 *	shown	the language's name as people write it
 *	parts	the text of -doctor for a runtime whose frames are found
 */
#ifndef INTERPRETERS_LANGUAGES_H
#define INTERPRETERS_LANGUAGES_H

#include "ebpf/abi/languages.h"

/* clang-format off */
#define LANGUAGE_TEXTS(X) \
	X(GO, "Go", "Go frames, inlined ones too; names, lines, labels") \
	X(JAVA, "Java", "Java frames, interpreted, compiled and inlined; names, lines") \
	X(JAVASCRIPT, "JavaScript", "JavaScript frames of V8, inlined ones too; names, lines") \
	X(PERL, "Perl", "Perl frames, evals and files among them; names, lines") \
	X(PHP, "PHP", "PHP frames, functions in C among them; names, lines") \
	X(PYTHON, "Python", "Python frames, names, lines") \
	X(RUBY, "Ruby", "Ruby frames, methods in C among them; names, lines")
/* clang-format on */

/** Names of all languages, each as ", Python". */
#define LANGUAGES_SHOWN LANGUAGE_TEXTS(LANGUAGE_SHOWN)
#define LANGUAGE_SHOWN(NAME, shown, parts) ", " shown

struct language_texts {
	const char *shown;
	const char *parts;
};

/** Indexed by enum language_index. */
extern const struct language_texts language_texts[LANGUAGE_COUNT];

#endif
