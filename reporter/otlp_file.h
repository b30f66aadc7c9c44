/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Writes all samples of a run to a file as one OTLP message: ProfilesData
 * (proto/otlp_profiles.proto), uncompressed. A request to a collector has the same bytes. Without
 * samples the file is empty, which is the encoding of an empty message.
 */
#ifndef REPORTER_OTLP_FILE_H
#define REPORTER_OTLP_FILE_H

#include <stdio.h>

#include "reporter/otlp_profile.h"

/**
 * Writes the message that otlp_build_requests() builds with @options but without a limit. Returns
 * its result; write errors stay in @out (ferror()).
 */
int otlp_file_write(FILE *out, const struct sample_snapshot *snapshot,
		    const struct otlp_window *window, const struct otlp_options *options);

#endif
