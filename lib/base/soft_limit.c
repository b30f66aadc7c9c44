// SPDX-License-Identifier: Apache-2.0
#include "lib/base/soft_limit.h"

#include <sys/resource.h>

void soft_limit_raise(int resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) || limit.rlim_cur >= limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(resource, &limit);
}
