/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Setters that serve several options: each puts a value into the field at the option's offset, and
 * refuses what lies outside of its minimum and maximum. And what other setters share with them.
 */
#ifndef AGENT_OPTION_SETTERS_H
#define AGENT_OPTION_SETTERS_H

#include <stdbool.h>

#include "agent/option_table.h"
#include "lib/base/error.h"

#define NS_PER_HOUR (3600 * NS_PER_SECOND)

/** Fails with "SOURCE VALUE: what to do". */
#define option_refuse(setting, format, ...)                                                        \
	fail(-EINVAL, "%s%.*s: " format, (setting)->source, SHOWN_VALUE_BYTES,                     \
	     (setting)->text __VA_OPT__(, ) __VA_ARGS__)

/** -ENOMEM, with its text. */
int option_out_of_memory(void);

/** A uint32_t. */
int option_set_number(struct options *options, const struct setting *setting);
/** A uint64_t of ns. */
int option_set_duration(struct options *options, const struct setting *setting);
/** A uint64_t of bytes, a multiple of SLAB_BYTES. */
int option_set_size(struct options *options, const struct setting *setting);
/** A char * that is not empty. */
int option_set_path(struct options *options, const struct setting *setting);
/** A bool. */
int option_set_switch(struct options *options, const struct setting *setting);
/** A double from 0 to 1. */
int option_set_fraction(struct options *options, const struct setting *setting);

/** The value of a flag. */
int option_read_flag(const struct setting *setting, bool *flag);

#endif
