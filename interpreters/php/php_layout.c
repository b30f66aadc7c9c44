/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/php/php_layout.h"

#include <stddef.h>

static const struct php_layout layouts[] = {
	{
		.engine = PHP_ENGINE_VERSION(3, 4),
		.version = "7.4",
		.current = 488,
		.before_exception = 880,
		.last = 60,
		.file = 136,
		.generator_frame = 64,
		.generator_values = 152,
		.generator_parent = 160,
		.generator_fake = 200,
	},
	{
		.engine = PHP_ENGINE_VERSION(4, 2),
		.version = "8.2",
		.current = 488,
		.before_exception = 880,
		.last = 80,
		.file = 152,
		.closure_count = 180,
		.closures = 192,
		.generator_frame = 56,
		.generator_values = 144,
		.generator_parent = 152,
		.generator_fake = 184,
		.fibers = 1664,
		.code_bytes = 16,
		.trace_bytes = 88,
		.exit_bytes = 32,
	},
	{
		.engine = PHP_ENGINE_VERSION(4, 4),
		.version = "8.4",
		.current = 488,
		.before_exception = 952,
		.last = 96,
		.file = 168,
		.closure_count = 188,
		.closures = 200,
		.generator_frame = 56,
		.generator_values = 144,
		.generator_parent = 152,
		.generator_fake = 184,
		.fibers = 1736,
		.trace_bytes = 104,
		.exit_bytes = 48,
	},
	{
		.engine = PHP_ENGINE_VERSION(4, 5),
		.version = "8.5",
		.current = 512,
		.before_exception = 976,
		.last = 96,
		.file = 168,
		.closure_count = 188,
		.closures = 200,
		.generator_frame = 56,
		.generator_values = 144,
		.generator_parent = 152,
		.generator_fake = 184,
		.fibers = 1760,
	},
};

const struct php_layout *php_layout_of(uint16_t engine)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].engine == engine)
			return &layouts[i];
	return NULL;
}
