/* SPDX-License-Identifier: Apache-2.0 */
/** `agent -open FILE`: shows profiles that were written earlier on the page. Needs no privileges. */
#ifndef AGENT_SHOW_FILE_H
#define AGENT_SHOW_FILE_H

#include "agent/options.h"

/** Shows options->opens until it is interrupted. Returns an enum exit_status (agent/agent.h). */
int show_file(const struct options *options);

#endif
