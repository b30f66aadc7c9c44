/* SPDX-License-Identifier: Apache-2.0 */
/** Whole stacks as text, for the test and the fuzzer of stack_text. */
#ifndef REPORTER_TESTS_WHOLE_STACK_H
#define REPORTER_TESTS_WHOLE_STACK_H

#include "reporter/stack_text.h"

/** Appends `comm;root;...;leaf`. */
static inline void append_stack_text(struct text_builder *text, const char *comm,
				     const struct trace *trace, struct symbol_lookup *lookup)
{
	struct named_frame names[FRAME_MAX_NAMES];

	append_comm_text(text, comm);
	for (uint32_t i = trace->frame_count; i-- > 0;) {
		struct frame frame;
		uint32_t count = trace_shown_frame(trace, i, lookup, &frame) ?
					 name_frame(&frame, lookup, names) :
					 0;

		while (count-- > 0) {
			text_builder_append(text, ";");
			append_frame_text(text, &names[count], false);
		}
	}
}

#endif
