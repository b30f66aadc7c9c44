/* SPDX-License-Identifier: Apache-2.0 */
/* One line per stack. */

#include "reporter/folded.h"

void folded_write(FILE *out, const struct stack_counts *counts)
{
	static const struct value_type samples = { 0 };

	folded_write_values(out, counts, &samples);
}

void folded_write_values(FILE *out, const struct stack_counts *counts,
			 const struct value_type *type)
{
	struct text_builder text = { 0 };

	for (size_t i = 0; i < counts->stacks.sequences.count && !ferror(out); i++) {
		const struct counted_sequence *stack = &counts->stacks.sequences.items[i];

		text_builder_clear(&text);
		value_type_append_value(&text, type, (int64_t)stack->count);
		stack_counts_write_stack(counts, stack, out);
		fprintf(out, " %s\n", text_builder_text(&text));
	}
	text_builder_deinit(&text);
}
