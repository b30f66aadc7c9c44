/* SPDX-License-Identifier: Apache-2.0 */
/** Options of the collector: where profiles are sent, and how. */
#ifndef AGENT_OPTION_COLLECTOR_H
#define AGENT_OPTION_COLLECTOR_H

#include "agent/option_table.h"

/**
 * Makes `host:port` or `[address]:port` from HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT. The caller frees
 * *@address. -EINVAL without a text, or -ENOMEM.
 */
int collector_parse_address(const char *text, char **address);

/** Setters. */
int option_set_collector(struct options *options, const struct setting *setting);
int option_set_disable_tls(struct options *options, const struct setting *setting);
int option_set_header(struct options *options, const struct setting *setting);
int option_set_grouping(struct options *options, const struct setting *setting);
int option_set_symbolize(struct options *options, const struct setting *setting);

/** Refuses options that contradict each other, with a text for users. */
int collector_options_check(const struct collector_options *collector);
void collector_options_deinit(struct collector_options *collector);

#endif
