/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A profile as one HTML file that needs nothing else: viewer/assets/export.html, a flame graph to be zoomed and
 * searched, with the tree in it as JSON. Names may come from hostile programs: none of them ends the script
 * element that they stand in.
 */
#ifndef VIEWER_FLAME_PAGE_H
#define VIEWER_FLAME_PAGE_H

#include <stdio.h>

#include "reporter/stack_counts.h"

/** More than a browser draws at once; the rest are too small to be seen. */
enum { FLAME_PAGE_MAX_NODES = 100000 };

/** Errors of writing stay in @out (ferror()). -ENOMEM. */
int flame_page_write(FILE *out, const struct stack_counts *counts);

/** The page of what the viewer answered: @json as /api/flame has it (viewer/page/API.md). */
int flame_page_write_json(FILE *out, const char *json);

#endif
