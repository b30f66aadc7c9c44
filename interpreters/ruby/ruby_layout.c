/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/ruby/ruby_layout.h"

#include <stddef.h>

static const struct ruby_layout layouts[] = {
	{
		.version = RUBY_VERSION(3, 1),
		.frame_bytes = 64,
		.context_frame = 16,
		.context_tag = 24,
		.context_thread = 48,
		.thread_self = 16,
		.tag_state = 64,
		.sequence_body = 16,
		.body_size = 4,
		.body_instructions = 8,
		.body_flags = 16,
		.body_optional_count = 28,
		.body_optional_table = 48,
		.body_path = 64,
		.body_label = 80,
		.body_first_line = 88,
		.body_lines = 120,
		.body_line_count = 136,
		.body_line_index = 144,
		.line_bytes = 12,
		.method_definition = 16,
		.definition_id = 32,
		.id_shift = 4,
		.id_last_operator = 169,
		.string_length = 16,
		.string_pointer = 24,
		.string_embedded = 16,
		.string_length_in_flags = 1,
	},
	{
		.version = RUBY_VERSION(3, 3),
		.frame_bytes = 56,
		.context_frame = 16,
		.context_tag = 24,
		.context_thread = 48,
		.thread_self = 16,
		.tag_state = 224,
		.sequence_body = 16,
		.body_size = 4,
		.body_instructions = 8,
		.body_flags = 16,
		.body_optional_count = 28,
		.body_optional_table = 48,
		.body_path = 64,
		.body_label = 80,
		.body_first_line = 88,
		.body_lines = 112,
		.body_line_count = 128,
		.body_line_index = 136,
		.line_bytes = 12,
		.method_definition = 16,
		.definition_id = 32,
		.id_shift = 4,
		.id_last_operator = 169,
		.string_length = 16,
		.string_pointer = 24,
		.string_embedded = 24,
	},
};

const struct ruby_layout *ruby_layout_of(uint16_t version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}
