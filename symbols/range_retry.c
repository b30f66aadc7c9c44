/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/range_retry.h"

#include <errno.h>

#include "lib/base/clock.h"

#define FIRST_WAIT_NS NS_PER_SECOND
enum {
	WAIT_FACTOR = 4,
	TRIES_MAX = 7,
};

static bool is_temporary(int err)
{
	switch (err) {
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
	case -ENOSPC:
	case -EDQUOT:
	case -EIO:
	case -EINTR:
	case -EAGAIN:
		return true;
	default:
		return false;
	}
}

bool range_retry_note(struct range_retry *retry, int err)
{
	uint64_t wait_ns = FIRST_WAIT_NS;

	if (!is_temporary(err) || ++retry->tries == TRIES_MAX)
		return false;
	for (uint32_t i = 1; i < retry->tries; i++)
		wait_ns *= WAIT_FACTOR;
	retry->time_ns = clock_monotonic_ns() + wait_ns;
	return true;
}
