// SPDX-License-Identifier: Apache-2.0
#include "lib/model/program_facts.h"

#include <stddef.h>
#include <string.h>

void program_facts_add(struct program_facts *facts, const char *key, const char *text,
		       bool is_of_binary)
{
	size_t bytes = strlen(text);
	struct program_fact *fact;

	if (!bytes || bytes > PROGRAM_FACT_MAX_BYTES || facts->count == PROGRAM_FACTS_MAX)
		return;
	fact = &facts->items[facts->count++];
	fact->key = key;
	fact->is_of_binary = is_of_binary;
	memcpy(fact->text, text, bytes + 1);
}
