/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A pattern that is searched for in names: text in any case, or `/an expression/`, in any case too. An expression
 * is a part of JavaScript's with the same meaning, so that the page can mark what matches:
 * . ^ $ \b \B | (...) (?:...) [...] \d \w \s \D \W \S * + ? {n} {n,} {n,m}, each also lazy. The text is
 * untrusted: time is bounded by the product of the lengths of expression and name, and memory is fixed.
 */
#ifndef VIEWER_NAME_PATTERN_H
#define VIEWER_NAME_PATTERN_H

#include <stdbool.h>

enum { NAME_PATTERN_MAX_BYTES = 1024 };

struct name_pattern;

/**
 * -EINVAL with a text for users (fail()) that says what is wrong with an expression and at which
 * character; -ENOMEM.
 */
int name_pattern_create(const char *text, struct name_pattern **pattern);
void name_pattern_destroy(struct name_pattern *pattern);

/** True if the pattern is anywhere in @name. */
bool name_pattern_matches(const struct name_pattern *pattern, const char *name);

#endif
