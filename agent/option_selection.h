/* SPDX-License-Identifier: Apache-2.0 */
/** Setters of the options that select what is profiled. They return 0, or -EINVAL or -ENOMEM with a text for users. */
#ifndef AGENT_OPTION_SELECTION_H
#define AGENT_OPTION_SELECTION_H

#include "agent/option_table.h"

/** Pids of running processes. */
int option_set_pids(struct options *options, const struct setting *setting);
int option_set_comm(struct options *options, const struct setting *setting);
int option_set_cgroup(struct options *options, const struct setting *setting);
/** CPUs of this machine. */
int option_set_cpus(struct options *options, const struct setting *setting);

#endif
