/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/json_text.h"

#include <string.h>

void json_text_write_bytes(FILE *out, const char *text, size_t length)
{
	putc('"', out);
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte == '"' || byte == '\\')
			fprintf(out, "\\%c", byte);
		else if (byte < ' ' || byte == '<')
			fprintf(out, "\\u%04x", byte);
		else
			putc(byte, out);
	}
	putc('"', out);
}

void json_text_write(FILE *out, const char *text)
{
	json_text_write_bytes(out, text, strlen(text));
}
