/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/significance.h"

#include <math.h>

double share_significance(uint64_t count, uint64_t total, uint64_t base_count, uint64_t base_total)
{
	double n = (double)total, m = (double)base_total, pooled, error;

	if (!total || !base_total)
		return 0;
	pooled = (double)(count + base_count) / (n + m);
	error = sqrt(pooled * (1 - pooled) * (1 / n + 1 / m));
	if (!(error > 0))
		return 0;
	return round(((double)count / n - (double)base_count / m) / error * 10) / 10;
}
