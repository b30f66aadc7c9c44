/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile safepoint tables and translations. Byte 0: version; 1: for Maglev or not; 2 and 3: pc offset or index. */
#include "interpreters/javascript/v8_deopt.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct v8_translated_frames frames;
	struct v8_safepoint safepoint;
	enum v8_line line;
	bool is_maglev;
	uint32_t offset;

	if (size < 4)
		return 0;
	line = data[0] % V8_LINE_COUNT;
	is_maglev = data[1] & 1;
	offset = data[2] | (uint32_t)data[3] << 8;
	data += 4;
	size -= 4;
	if (!v8_safepoint_find(line, is_maglev, data, size, offset, &safepoint) &&
	    safepoint.deopt_index < -1)
		abort();
	if (!v8_translation_read(line, data, size, offset, &frames) &&
	    frames.count > V8_INLINED_MAX)
		abort();
	return 0;
}
