/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/function_id.h"

#include <string.h>

#include "lib/base/hash128.h"

enum { DIGIT_BITS = 6 };

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

_Static_assert(sizeof(digits) - 1 == 1 << DIGIT_BITS, "a digit for each value");

uint64_t function_id_of(const struct stack_names *names, struct stack_location location)
{
	const struct function_identity *function = &names->functions.items[location.function];
	const char *name = stack_names_text(names, function->name);
	const char *file = stack_names_text(names, function->file);
	uint64_t parts[] = {
		hash128_bytes(name, strlen(name)).low,
		hash128_bytes(file, strlen(file)).low,
		(uint64_t)location.line << 32 | location.column,
		(uint64_t)function->kind << 8 | function->flags,
	};

	return hash128_bytes(parts, sizeof(parts)).low >> (64 - DIGIT_BITS * FUNCTION_ID_LENGTH);
}

void function_id_write(uint64_t id, char text[FUNCTION_ID_LENGTH + 1])
{
	for (int i = FUNCTION_ID_LENGTH; i-- > 0; id >>= DIGIT_BITS)
		text[i] = digits[id & ((1 << DIGIT_BITS) - 1)];
	text[FUNCTION_ID_LENGTH] = '\0';
}

bool function_id_read(const char *text, uint64_t *id)
{
	uint64_t value = 0;

	for (int i = 0; i < FUNCTION_ID_LENGTH; i++) {
		const char *digit = text[i] ? strchr(digits, text[i]) : NULL;

		if (!digit)
			return false;
		value = value << DIGIT_BITS | (uint64_t)(digit - digits);
	}
	*id = value;
	return true;
}
