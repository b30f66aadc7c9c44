/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Setters of options for what is done with a profile, and for files that are read instead of sampling. They return 0, or
 * -EINVAL or -ENOMEM with a text for users.
 */
#ifndef AGENT_OPTION_DESTINATION_H
#define AGENT_OPTION_DESTINATION_H

#include "agent/option_table.h"

int option_set_output(struct options *options, const struct setting *setting);
int option_set_report(struct options *options, const struct setting *setting);
int option_set_weight(struct options *options, const struct setting *setting);
int option_set_open(struct options *options, const struct setting *setting);
int option_set_diff(struct options *options, const struct setting *setting);
int option_set_upload(struct options *options, const struct setting *setting);

#endif
