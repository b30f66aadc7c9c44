/* SPDX-License-Identifier: Apache-2.0 */
/**
 * An attribute of a process or a binary: a key, as in OTLP, and a text. Only the code that sets an attribute
 * needs to know its key.
 */
#ifndef LIB_MODEL_ATTRIBUTE_H
#define LIB_MODEL_ATTRIBUTE_H

#include <stdint.h>
#include <string.h>

/** Both strings are borrowed from the owner of the attribute. */
struct attribute {
	const char *key;
	const char *text;
};

/** The text of the attribute @key among @count attributes; "" if there is none. */
static inline const char *attribute_text(const struct attribute *attributes, uint32_t count,
					 const char *key)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(attributes[i].key, key))
			return attributes[i].text;
	return "";
}

#endif
