/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that claim to be PHP: an image with any bytes, whose functions are at addresses that the input chooses. Nothing
 * crashes or takes long, and no range ends before it starts.
 *
 * covers: php_code.c code_graph.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/php/php_code.h"
#include "lib/elf/elf_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ranges(const struct php_code_range *ranges, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (ranges[i].start > ranges[i].end)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t bytes[] = { 0xb8, 4, 0, 0, 0, 0xc3 };
	static struct php_code code;
	struct elf_image image = { 0 };
	struct php_symbols symbols;
	uint16_t addresses[8];

	if (size < sizeof(addresses) ||
	    elf_image_init_memory(&image, data + sizeof(addresses), size - sizeof(addresses)))
		return 0;
	memcpy(addresses, data, sizeof(addresses));
	symbols = (struct php_symbols){
		.execute = addresses[0],
		.execute_pointer = addresses[1],
		.init = { addresses[2], addresses[3] },
		.calling = { addresses[4], addresses[5] },
		.resume = addresses[6],
		.globals = addresses[1],
		.current = addresses[7],
	};
	if (!php_code_find(&image, &symbols, &code)) {
		if (code.range_count > LOOP_RANGES_MAX || !code.left[0])
			abort();
		for (uint32_t i = 0; i + 1 < code.range_count; i++)
			if (code.ranges[i].start > code.ranges[i + 1].start)
				abort();
		check_ranges(&code.end, 1);
		check_ranges(code.entering, PHP_ENTERING_MAX);
		check_ranges(code.resumed, PHP_RESUMED_MAX);
	}
	php_code_has_bytes(&image, addresses[0], bytes, sizeof(bytes));
	elf_image_deinit(&image);
	return 0;
}
