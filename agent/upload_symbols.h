/* SPDX-License-Identifier: Apache-2.0 */
/** `-upload-symbols`: sends the symbols of files to a receiving agent instead of sampling. */
#ifndef AGENT_UPLOAD_SYMBOLS_H
#define AGENT_UPLOAD_SYMBOLS_H

#include "agent/options.h"

/** Reads and sends one file after the other; returns the exit status, EXIT_STATUS_FAILED if any file failed. */
int upload_symbols(const struct options *options);

#endif
