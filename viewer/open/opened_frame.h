/* SPDX-License-Identifier: Apache-2.0 */
/** Frames of profiles that were read: what of them says where they lie, made into binaries, and their names. */
#ifndef VIEWER_OPEN_OPENED_FRAME_H
#define VIEWER_OPEN_OPENED_FRAME_H

#include <stdint.h>

#include "lib/model/trace.h"
#include "viewer/open/opened_name.h"
#include "viewer/open/opened_samples.h"

enum opened_place {
	OPENED_FILE,
	OPENED_IN_KERNEL,
	/** Code made at run time. */
	OPENED_ANONYMOUS,
};

enum {
	/** Profiles with more files are refused. */
	OPENED_MAPPINGS_MAX = 1 << 16,
};

struct opened_mapping {
	enum opened_place place;
	/** NULL for anonymous code. */
	struct binary *binary;
	/** Of the kernel; borrowed from the binary. */
	const char *module;
};

/**
 * Of what a profile says of a file; executable_id, is_kernel and fd are set here. Equal ones have equal ids, those of
 * different files different ones. What it takes counts in @opened. -ENOMEM, -E2BIG with a text for users.
 */
int opened_mapping_init(struct opened_mapping *mapping, const struct binary *values,
			struct opened_samples *opened);
/** Of frames that do not say where they lie. -ENOMEM, -E2BIG. */
int opened_mapping_init_nowhere(struct opened_mapping *mapping, struct opened_samples *opened);
/** Takes a zeroed one. */
void opened_mapping_deinit(struct opened_mapping *mapping);

/** A hexadecimal build id; what is none is left out. */
void opened_build_id(const char *text, struct binary *values);

/**
 * The frame of @function, "" if it has none, with what was cut off its name. A kind that is known already, else
 * FRAME_NATIVE. Texts are borrowed.
 */
struct frame opened_frame_make(const struct opened_mapping *mapping, uint8_t kind,
			       const char *function, const struct opened_name *name,
			       const char *file, int64_t line);

#endif
