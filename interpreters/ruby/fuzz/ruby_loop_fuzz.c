/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that claim to be Ruby: an image with any bytes is probed, and every search in its code runs at addresses that
 * the input chooses. Nothing crashes or takes long, and no range ends before it starts.
 *
 * covers: ruby_loop.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/ruby/ruby_loop.h"
#include "lib/elf/elf_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ranges(const struct ruby_code_range *ranges, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (ranges[i].start > ranges[i].end)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ruby_code_range returning[RUBY_RETURNING_MAX] = { 0 };
	struct ruby_code_range entering[RUBY_ENTERING_MAX] = { 0 };
	struct ruby_code_range code_returns[RUBY_CODE_RETURNS_MAX] = { 0 };
	const struct ruby_layout *layout = ruby_layout_of(RUBY_VERSION(3, 3));
	const int64_t loads[] = { layout->sequence_body, layout->body_label };
	struct elf_image image = { 0 };
	struct ruby_loop loop;
	struct ruby_collector collector;
	uint16_t addresses[6], bytes;
	uint64_t address;

	if (size < sizeof(addresses) ||
	    elf_image_init_memory(&image, data + sizeof(addresses), size - sizeof(addresses)))
		return 0;
	memcpy(addresses, data, sizeof(addresses));
	if (!ruby_loop_find(&image, addresses[0], &loop)) {
		ruby_loop_check(&image, &loop, layout);
		ruby_loop_find_jump_buffer(&image, &loop, layout, &bytes);
		if (!ruby_loop_find_code_returns(&image, &loop, code_returns))
			check_ranges(code_returns, RUBY_CODE_RETURNS_MAX);
		if (!ruby_loop_find_returning(&image, &loop, layout, returning))
			check_ranges(returning, RUBY_RETURNING_MAX);
	}
	ruby_loop_follow_jump(&image, (struct code_range){ addresses[1], addresses[2] }, &address);
	if (!ruby_loop_find_entering(&image, addresses[0],
				     (struct code_range){ addresses[1], addresses[2] }, entering))
		check_ranges(entering, RUBY_ENTERING_MAX);
	ruby_loop_has_loads(&image, addresses[3], loads, 2);
	ruby_loop_find_symbols(&image, addresses[3], &address);
	if (!ruby_loop_find_collector(&image, addresses[4], &collector) && !collector.vm.address)
		abort();
	ruby_loop_saves_registers(&image, addresses[4]);
	ruby_loop_saves_registers(&image, addresses[5]);
	elf_image_deinit(&image);
	return 0;
}
