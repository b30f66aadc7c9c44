/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a CFA program: the fast path has the same result as the slow one, or none. */
#include "stackdeltas/tests/plain_comparison.h"

enum { PROGRAM_MAX_BYTES = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size || size > PROGRAM_MAX_BYTES)
		return 0;
	if (compare_plain(data[0] & 1 ? EM_AARCH64 : EM_X86_64, data + 1, size - 1) ==
	    COMPARISON_DIFFERENT)
		abort();
	return 0;
}
