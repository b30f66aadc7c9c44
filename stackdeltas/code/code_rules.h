/* SPDX-License-Identifier: Apache-2.0 */
/** The different rules of a piece of code, numbered, so that an instruction's takes two bytes. */
#ifndef STACKDELTAS_CODE_CODE_RULES_H
#define STACKDELTAS_CODE_CODE_RULES_H

#include <stdint.h>

#include "ebpf/abi/slab.h"
#include "lib/base/hash_map.h"
#include "lib/base/vector.h"

enum {
	/** Rule 0 is CFA_NONE, which stands for those that are too many as well. */
	CODE_MAX_RULES = 1 << 16,
	CODE_RULE_CACHE = 1024,
};

VECTOR_DEFINE(code_rule_vector, struct unwind_rule)

struct code_rules {
	/** By number. */
	struct code_rule_vector rules;
	struct hash_map index;
	uint16_t cache[CODE_RULE_CACHE];
};

/** -ENOMEM. The caller deinits in any case. */
int code_rules_init(struct code_rules *rules);
/** The number of @rule, also if it is new. -ENOMEM. */
int code_rules_number(struct code_rules *rules, const struct unwind_rule *rule, uint16_t *number);
void code_rules_deinit(struct code_rules *rules);

#endif
