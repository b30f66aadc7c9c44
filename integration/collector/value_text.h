/* SPDX-License-Identifier: Apache-2.0 */
/** Values and text of messages in the report and with -print. */
#ifndef INTEGRATION_COLLECTOR_VALUE_TEXT_H
#define INTEGRATION_COLLECTOR_VALUE_TEXT_H

#include <stdio.h>

#include "integration/collector/otlp_message.h"
#include "lib/base/text_builder.h"

/** Appends the value as text. */
void append_value_text(struct text_builder *text, const struct any_value *value);

/** Writes a JSON string: invalid UTF-8 and control characters become `?`. */
void write_json_text(FILE *out, const char *text);

#endif
