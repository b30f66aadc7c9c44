/* SPDX-License-Identifier: Apache-2.0 */
/** Setters of the options that select what is profiled. They return 0, or -EINVAL or -ENOMEM with a text for users. */
#ifndef AGENT_OPTION_SELECTION_H
#define AGENT_OPTION_SELECTION_H

#include "agent/option_table.h"

/** Pids of running processes. */
int option_set_pids(struct options *options, const struct setting *setting);
/** Pids of running processes whose stacks are printed. */
int option_set_dump(struct options *options, const struct setting *setting);
int option_set_comm(struct options *options, const struct setting *setting);
/** One of these three can be given. */
int option_set_cgroup(struct options *options, const struct setting *setting);
/** The id of a running container or its start, or its name. */
int option_set_container(struct options *options, const struct setting *setting);
/** A running unit of systemd. */
int option_set_unit(struct options *options, const struct setting *setting);
/** A name or a number. */
int option_set_user(struct options *options, const struct setting *setting);
/** CPUs of this machine. */
int option_set_cpus(struct options *options, const struct setting *setting);

#endif
