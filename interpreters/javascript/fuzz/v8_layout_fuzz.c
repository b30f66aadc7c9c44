/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exports of a Node.js in a hostile file. Byte 0: version of the made file; then changes to it, 6 bytes each: an
 * offset and a value.
 */
#include "interpreters/javascript/v8_layout.h"

#include "interpreters/javascript/tests/made_node.h"

enum { CHANGE_BYTES = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made_node node;
	struct v8_layout layout;

	if (!size)
		return 0;
	made_node_init(&node, data[0] % V8_LINE_COUNT);
	for (size_t i = 1; i + CHANGE_BYTES <= size; i += CHANGE_BYTES) {
		const size_t offset = (data[i] | (size_t)data[i + 1] << 8) % (MADE_NODE_BYTES - 4);

		memcpy((uint8_t *)&node + offset, data + i + 2, 4);
	}
	if (made_node_read(&node, &layout))
		return 0;
	if (layout.line >= V8_LINE_COUNT || layout.type_script < 0 ||
	    layout.type_script > UINT16_MAX || layout.string_characters != 16)
		abort();
	return 0;
}
