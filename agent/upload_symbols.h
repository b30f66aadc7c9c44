/* SPDX-License-Identifier: Apache-2.0 */
/** `-upload-symbols`: instead of sampling, what is known of the code of files goes to an agent that receives. */
#ifndef AGENT_UPLOAD_SYMBOLS_H
#define AGENT_UPLOAD_SYMBOLS_H

#include "agent/options.h"

/** Reads and sends one file after the other; returns the exit status: EXIT_STATUS_FAILED if one of them failed. */
int upload_symbols(const struct options *options);

#endif
