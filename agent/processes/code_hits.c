/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that share a slot are passed on more often, but not more than the limit. Processes that share a slot share its limit. */
#include "agent/processes/code_hits.h"

#include <string.h>

#include "agent/processes/code_copies.h"

static uint64_t key_of(uint32_t pid, uint64_t address, bool is_changed)
{
	uint64_t key = (uint64_t)pid * 0x9e3779b97f4a7c15ULL ^ address / CODE_WINDOW_BYTES;

	/* Never 0, the key of an empty slot. */
	return key << 2 | (uint64_t)is_changed << 1 | 1;
}

bool code_hits_take(struct code_hits *hits, uint32_t pid, uint64_t address, bool is_changed,
		    uint64_t now_ns)
{
	uint64_t key = key_of(pid, address, is_changed);
	uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15ULL >> 32) % CODE_HITS_REMEMBERED;

	if (hits->last[slot].key == key && now_ns - hits->last[slot].time_ns < CODE_HITS_PERIOD_NS)
		return false;
	if (now_ns - hits->period_start_ns >= CODE_HITS_PERIOD_NS) {
		hits->period_start_ns = now_ns;
		hits->count = 0;
		memset(hits->counts, 0, sizeof(hits->counts));
	}
	if (hits->count == CODE_HITS_MAX ||
	    hits->counts[pid % CODE_HITS_PROCESSES] == CODE_HITS_OF_PROCESS_MAX)
		return false;
	hits->count++;
	hits->counts[pid % CODE_HITS_PROCESSES]++;
	hits->last[slot].key = key;
	hits->last[slot].time_ns = now_ns;
	return true;
}
