/* SPDX-License-Identifier: Apache-2.0 */
#include "integration/collector/value_text.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/json_text.h"

void append_value_text(struct text_builder *text, const struct any_value *value)
{
	double number;

	switch (value->kind) {
	case VALUE_STRING:
		text_builder_append_bytes(text, (const char *)value->bytes.bytes,
					  value->bytes.count);
		break;
	case VALUE_BOOL:
		text_builder_append(text, value->number ? "true" : "false");
		break;
	case VALUE_INT:
		text_builder_format(text, "%" PRId64, (int64_t)value->number);
		break;
	case VALUE_DOUBLE:
		memcpy(&number, &value->number, sizeof(number));
		text_builder_format(text, "%g", number);
		break;
	default:
		text_builder_format(text, "(%zu bytes)", value->bytes.count);
	}
}

void write_json_text(FILE *out, const char *text)
{
	struct text_builder clean = { 0 };

	text_builder_append_name(&clean, text);
	json_text_write(out, text_builder_text(&clean));
	text_builder_deinit(&clean);
}
