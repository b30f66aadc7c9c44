/* SPDX-License-Identifier: Apache-2.0 */
/* Most rules equal one of the last, which the cache finds without hashing all bytes. */
#include "stackdeltas/code/code_rules.h"

#include <string.h>

enum { MAX_RULES = 1 << 16 };

int code_rules_init(struct code_rules *rules)
{
	const struct unwind_rule none = { .cfa = CFA_NONE };

	memset(rules, 0, sizeof(*rules));
	return code_rule_vector_push(&rules->rules, none);
}

void code_rules_deinit(struct code_rules *rules)
{
	code_rule_vector_deinit(&rules->rules);
	hash_map_deinit(&rules->index);
}

static uint16_t *cache_slot(struct code_rules *rules, const struct unwind_rule *rule)
{
	uint64_t words[2], mixed;

	memcpy(words, rule, sizeof(words));
	mixed = (words[0] ^ words[1] * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;
	return &rules->cache[mixed >> 32 & (CODE_RULE_CACHE - 1)];
}

int code_rules_intern(struct code_rules *rules, const struct unwind_rule *rule, uint16_t *id)
{
	uint16_t *cached = cache_slot(rules, rule);
	uint64_t found;
	int error;

	*id = *cached;
	if (!memcmp(&rules->rules.items[*cached], rule, sizeof(*rule)))
		return 0;
	if (!hash_map_find_bytes(&rules->index, rule, sizeof(*rule), &found)) {
		*id = 0;
		if (rules->rules.count == MAX_RULES)
			return 0;
		found = rules->rules.count;
		error = code_rule_vector_push(&rules->rules, *rule);
		if (!error)
			error = hash_map_set_bytes(&rules->index, rule, sizeof(*rule), found);
		if (error)
			return error;
	}
	*id = *cached = (uint16_t)found;
	return 0;
}
