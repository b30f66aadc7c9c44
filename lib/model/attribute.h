/* SPDX-License-Identifier: Apache-2.0 */
/** What something is said to be: a key, as OTLP has it, and a text. Nobody but who sets one need know its key. */
#ifndef LIB_MODEL_ATTRIBUTE_H
#define LIB_MODEL_ATTRIBUTE_H

#include <stdint.h>
#include <string.h>

/** Both are borrowed from whoever has it. */
struct attribute {
	const char *key;
	const char *text;
};

/** The text of @key among @count attributes; "" if it is not there. */
static inline const char *attribute_text(const struct attribute *attributes, uint32_t count,
					 const char *key)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(attributes[i].key, key))
			return attributes[i].text;
	return "";
}

#endif
