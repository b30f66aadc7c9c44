/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Writes a profile as one self-contained HTML file: viewer/assets/export.html, a flame graph with
 * zoom and search, with the tree in it as JSON. Names may come from hostile programs: none of them
 * can end the script element that contains them.
 */
#ifndef VIEWER_FLAME_PAGE_H
#define VIEWER_FLAME_PAGE_H

#include <stdio.h>

#include "reporter/profile_info.h"
#include "reporter/stack_counts.h"

/** More nodes than a browser can draw; the others are too small to be visible. */
enum { FLAME_PAGE_MAX_NODES = 100000 };

/** @counts are of @snapshot. Write errors stay in @out (ferror()). -ENOMEM. */
int flame_page_write(FILE *out, const struct stack_counts *counts,
		     const struct sample_snapshot *snapshot, const struct profile_info *info);

/** Writes the page for an answer of the viewer: @json as from /api/flame (viewer/page/API.md). */
int flame_page_write_json(FILE *out, const char *json);

#endif
