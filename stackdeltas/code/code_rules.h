/* SPDX-License-Identifier: Apache-2.0 */
/** The different rules of a chunk of code. Each has an id of two bytes. */
#ifndef STACKDELTAS_CODE_CODE_RULES_H
#define STACKDELTAS_CODE_CODE_RULES_H

#include <stdint.h>

#include "ebpf/abi/slab.h"
#include "lib/base/hash_map.h"
#include "lib/base/vector.h"

enum { CODE_RULE_CACHE = 1024 };

VECTOR_DEFINE(code_rule_vector, struct unwind_rule)

struct code_rules {
	/** By id. Rule 0 is CFA_NONE, which also replaces the rules over the limit. */
	struct code_rule_vector rules;
	struct hash_map index;
	uint16_t cache[CODE_RULE_CACHE];
};

/** -ENOMEM. The caller deinits in any case. */
int code_rules_init(struct code_rules *rules);
void code_rules_deinit(struct code_rules *rules);

/** Interns @rule and sets its id. -ENOMEM. */
int code_rules_intern(struct code_rules *rules, const struct unwind_rule *rule, uint16_t *id);

#endif
