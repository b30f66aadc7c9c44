/* SPDX-License-Identifier: Apache-2.0 */
/* The shared object that plt.c calls. */

unsigned long plt_callee(unsigned long n);

unsigned long plt_callee(unsigned long n)
{
	return n + 1;
}
