/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Limits a thread to a share of the CPU in the long run; unused time is saved up for busy periods.
 */
#ifndef SYMBOLS_CPU_SHARE_H
#define SYMBOLS_CPU_SHARE_H

#include <stdint.h>

/** Used by one thread. */
struct cpu_share {
	/** Limit of the saved CPU time. */
	uint64_t burst_ns;
	/** 1 / @divisor of the elapsed time is added. */
	uint32_t divisor;
	uint64_t spent_ns;
	/** CLOCK_MONOTONIC */
	uint64_t refilled_ns;
};

void cpu_share_init(struct cpu_share *share, uint64_t burst_ns, uint32_t divisor, uint64_t now_ns);

/** How long to wait until CPU time may be spent again; 0: none. */
uint64_t cpu_share_rest_ns(struct cpu_share *share, uint64_t now_ns);

void cpu_share_spend(struct cpu_share *share, uint64_t cpu_ns);

#endif
