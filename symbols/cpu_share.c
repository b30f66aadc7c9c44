/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/cpu_share.h"

#include "lib/base/clock.h"

void cpu_share_init(struct cpu_share *share, uint64_t burst_ns, uint32_t divisor, uint64_t now_ns)
{
	*share = (struct cpu_share){
		.burst_ns = burst_ns,
		.divisor = divisor,
		.refilled_ns = now_ns,
	};
}

uint64_t cpu_share_rest_ns(struct cpu_share *share, uint64_t now_ns)
{
	uint64_t refill_ns = (now_ns - share->refilled_ns) / share->divisor;

	share->spent_ns -= refill_ns < share->spent_ns ? refill_ns : share->spent_ns;
	share->refilled_ns = now_ns;
	return share->spent_ns < share->burst_ns ?
		       0 :
		       (share->spent_ns - share->burst_ns + NS_PER_MS) * share->divisor;
}

void cpu_share_spend(struct cpu_share *share, uint64_t cpu_ns)
{
	share->spent_ns += cpu_ns;
}
