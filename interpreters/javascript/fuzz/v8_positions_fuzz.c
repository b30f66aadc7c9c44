/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile tables of positions and of Sparkplug's code. Byte 0: version; 1 and 2: code offset; 3: bytes of bytecodes. */
#include "interpreters/javascript/v8_positions.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum v8_line line;
	struct v8_position position;
	uint32_t code_offset;
	int32_t offset = 0;
	size_t bytecodes;

	if (size < 4)
		return 0;
	line = data[0] % V8_LINE_COUNT;
	code_offset = data[1] | (uint32_t)data[2] << 8;
	bytecodes = data[3] < size - 4 ? data[3] : size - 4;
	data += 4;
	size -= 4;
	if (!v8_positions_find(line, data, size, (int32_t)code_offset, &position) &&
	    (position.script_offset < -1 || position.inlining_id < -1))
		abort();
	if (!v8_baseline_offset(line, data + bytecodes, size - bytecodes, data, bytecodes,
				code_offset, code_offset & 1, &offset) &&
	    (offset < -1 || offset >= (int32_t)bytecodes))
		abort();
	return 0;
}
