/* SPDX-License-Identifier: Apache-2.0 */
/** Whether a difference between two sets of samples is more than chance. */
#ifndef LIB_BASE_SIGNIFICANCE_H
#define LIB_BASE_SIGNIFICANCE_H

#include <stdint.h>

/**
 * The difference between the share of @count in @total and that of the base, in standard deviations (the z of two
 * proportions), to one decimal. The counts are of independent samples.
 */
double share_significance(uint64_t count, uint64_t total, uint64_t base_count, uint64_t base_total);

#endif
