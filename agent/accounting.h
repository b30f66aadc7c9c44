/* SPDX-License-Identifier: Apache-2.0 */
/**
 * -accounting: reads once a second, and sooner where many processes come and go, what processes cost
 * (agent/tracing/cost_reader.h), and adds it up (reporter/cost_table.h). With -weight it does so at every call, and the costs are
 * shared out over samples (reporter/sample_weigher.h). Owner: the main thread; accounting_read() is also for the
 * page's.
 */
#ifndef AGENT_ACCOUNTING_H
#define AGENT_ACCOUNTING_H

#include <stdint.h>

#include "ebpf/abi/config.h"
#include "lib/base/text_builder.h"
#include "reporter/cost_table.h"
#include "reporter/metric_table.h"
#include "reporter/sample_weigher.h"

struct accounting;

/**
 * Begins to count. @config: that of the kernel programs, borrowed during the call. @power_file: the value of -energy-file or NULL;
 * borrowed. @weigher, borrowed, gets the costs; NULL without -weight. What this machine cannot count is logged once. -EINVAL if it
 * cannot count the weight; other errors as of cost_reader_create() and energy_create().
 */
int accounting_create(const struct agent_config *config, const char *power_file,
		      struct sample_weigher *weigher, struct accounting **accounting);
/**
 * Appends lines for -doctor: what -accounting can count here and what it cannot. The kernel programs are loaded for that, and unloaded
 * again. @config as above.
 */
void accounting_append_check(const struct agent_config *config, struct text_builder *text);

/** This and the following functions take NULL, and then do nothing. */
void accounting_destroy(struct accounting *accounting);

/** To be called several times a second. */
void accounting_tick(struct accounting *accounting, uint64_t now_ns);

/** Counts up to now, and then no more. */
void accounting_finish(struct accounting *accounting);

/**
 * Hands the costs of each process to @take, and fills *@facts. Any thread may call it, as long as @accounting is
 * there. @take must not take long.
 */
void accounting_read(struct accounting *accounting,
		     void (*take)(void *taker, const struct process_costs *process), void *taker,
		     struct cost_facts *facts);

/** Appends the metrics of costs to @to. Any thread may call it, as long as @accounting is there. */
void accounting_put_metrics(struct accounting *accounting, struct metric_table *to);

/** Everything counted until now; NULL if @accounting is NULL. */
const struct cost_table *accounting_table(const struct accounting *accounting);

#endif
