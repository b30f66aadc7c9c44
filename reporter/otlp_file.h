/* SPDX-License-Identifier: Apache-2.0 */
/**
 * All samples of a run as one OTLP message in a file: ProfilesData (proto/otlp_profiles.proto),
 * uncompressed; the bytes are those of a request to a collector. Without samples the file is empty,
 * which is the message without anything.
 */
#ifndef REPORTER_OTLP_FILE_H
#define REPORTER_OTLP_FILE_H

#include <stdio.h>

#include "reporter/otlp_profile.h"

/**
 * Writes the message: that of otlp_build_requests() with @options and whatever their limit is. 0 or
 * its -errno; write errors stay in @out (ferror()).
 */
int otlp_file_write(FILE *out, const struct sample_snapshot *snapshot,
		    const struct otlp_window *window, const struct otlp_options *options);

#endif
