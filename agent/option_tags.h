/* SPDX-License-Identifier: Apache-2.0 */
/** -tags: `key:value` with commas between. */
#ifndef AGENT_OPTION_TAGS_H
#define AGENT_OPTION_TAGS_H

#include "agent/option_table.h"

/** A setter. */
int option_set_tags(struct options *options, const struct setting *setting);

#endif
