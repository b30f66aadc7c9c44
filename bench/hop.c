// SPDX-License-Identifier: Apache-2.0
/* One of the five shared objects of hops.c: HOP is its function's name. */

unsigned long HOP(unsigned long depth, void **hops);

unsigned long HOP(unsigned long depth, void **hops)
{
	unsigned long (*next)(unsigned long, void **) = hops[depth + 1];

	return next(depth + 1, hops) + depth;
}
