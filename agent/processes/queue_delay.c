/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/queue_delay.h"

#include <stdbool.h>

void queue_delay_begin(struct queue_delay *delay, uint64_t time_ns)
{
	__atomic_store_n(&delay->at_hand_ns, time_ns, __ATOMIC_RELAXED);
}

void queue_delay_end(struct queue_delay *delay)
{
	queue_delay_begin(delay, 0);
}

void queue_delay_drop(struct queue_delay *delay, uint64_t time_ns)
{
	uint64_t nothing = 0;

	__atomic_compare_exchange_n(&delay->at_hand_ns, &nothing, time_ns, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

uint64_t queue_delay_age(const struct queue_delay *delay, uint64_t now_ns)
{
	uint64_t oldest_ns = __atomic_load_n(&delay->at_hand_ns, __ATOMIC_RELAXED);
	uint64_t queued_ns;

	if (!bounded_queue_peek(delay->queue, &queued_ns, sizeof(queued_ns)) &&
	    (!oldest_ns || queued_ns < oldest_ns))
		oldest_ns = queued_ns;
	return oldest_ns && now_ns > oldest_ns ? now_ns - oldest_ns : 0;
}

uint64_t queue_delay_stalled(uint64_t age_ns, uint64_t limit_ns, uint64_t since_ns, uint64_t now_ns)
{
	uint64_t over_ns = age_ns > limit_ns ? age_ns - limit_ns : 0;
	uint64_t span_ns = now_ns > since_ns ? now_ns - since_ns : 0;

	return over_ns < span_ns ? over_ns : span_ns;
}
