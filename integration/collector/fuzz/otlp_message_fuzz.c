/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests with any bytes: decoding, all rules, stacks as text. An input is a single request, or
 * two, of which the second has the names for the first.
 *
 * covers: otlp_message.c wire_reader.c check_dictionary.c check_frames.c
 * covers: check_profiles.c stack_texts.c
 */

#include <stddef.h>
#include <stdint.h>

#include "integration/collector/check_profiles.h"
#include "integration/collector/stack_texts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct otlp_message message = { 0 };
	struct location_names names = { 0 };
	struct folded_stacks folded = { 0 };
	struct text_builder text = { 0 };
	struct findings findings = { 0 };

	if (!otlp_message_decode(&message, (struct span){ data, size }, &findings) &&
	    !check_message(&message, UINT64_MAX / 2, &findings)) {
		location_names_add(&names, &message);
		for (size_t i = 0; i < message.samples.count && i < 1000; i++) {
			text_builder_clear(&text);
			append_stack_text(&text, &message, message.samples.items[i].stack, &names);
			if (text.length < 1 << 20)
				folded_stacks_add(&folded, text_builder_text(&text), 1);
		}
	}
	text_builder_deinit(&text);
	folded_stacks_deinit(&folded);
	location_names_deinit(&names);
	otlp_message_deinit(&message);
	return 0;
}
