/* SPDX-License-Identifier: Apache-2.0 */
/** The weights of samples (lib/model/origins.h): which costs of processes they are, and whether a machine counts these. */
#ifndef REPORTER_WEIGHTS_H
#define REPORTER_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/text_builder.h"
#include "lib/model/origins.h"
#include "reporter/cost_table.h"

/** Finds the weight that users call @name. False if there is none. */
bool weight_find(const char *name, uint8_t *weight);

/** Appends the names of all weights: "run-time, runs, ... or cache-misses". */
void weights_append_names(struct text_builder *text);

/** The bit of enum cost_source that says whether a machine counts it; 0: every machine does. */
uint32_t weight_source(uint8_t weight);

/** Whether a machine that counts @sources (enum cost_source) counts it. */
bool weight_is_counted(uint8_t weight, uint32_t sources);

/** How much of it @sum has. */
uint64_t weight_count(uint8_t weight, const struct costs_sum *sum);

#endif
