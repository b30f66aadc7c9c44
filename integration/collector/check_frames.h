/* SPDX-License-Identifier: Apache-2.0 */
/** Checks the rules of stacks and frames: RULE_STACKS to RULE_MEMORY_START. */
#ifndef INTEGRATION_COLLECTOR_CHECK_FRAMES_H
#define INTEGRATION_COLLECTOR_CHECK_FRAMES_H

#include "integration/collector/otlp_message.h"

enum frame_type {
	/** The location has no type, or an unknown one. */
	FRAME_TYPE_UNKNOWN,
	FRAME_TYPE_NATIVE,
	FRAME_TYPE_KERNEL,
	FRAME_TYPE_ABORT_MARKER,
	FRAME_TYPE_INTERPRETED,
};

/** The location's profile.frame.type. */
enum frame_type otlp_frame_type(const struct otlp_message *message,
				const struct otlp_location *location);

void check_frames(const struct otlp_message *message, struct findings *findings);

#endif
