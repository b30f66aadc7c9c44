/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Writes a profile as a flame graph in one SVG file, with zoom and search by a script in it (viewer/flame_svg.js). Names may
 * come from hostile programs: they are text in it, and nothing else.
 */
#ifndef VIEWER_FLAME_SVG_H
#define VIEWER_FLAME_SVG_H

#include <stdio.h>

#include "reporter/profile_info.h"
#include "reporter/stack_counts.h"

/**
 * @counts are of @snapshot; of an opened profile they are values of the shown type. Write errors stay in @out (ferror()).
 * -ENOMEM.
 */
int flame_svg_write(FILE *out, const struct stack_counts *counts,
		    const struct sample_snapshot *snapshot, const struct profile_info *info);

#endif
