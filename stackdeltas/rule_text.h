/* SPDX-License-Identifier: Apache-2.0 */
/** Unwind rules as text, for tools and tests. */
#ifndef STACKDELTAS_RULE_TEXT_H
#define STACKDELTAS_RULE_TEXT_H

#include <stdint.h>

#include "ebpf/abi/slab.h"

enum { RULE_TEXT_MAX_BYTES = 256 };

/**
 * Writes @rule as in "cfa=sp+16 ra=cfa-8 fp=cfa-16"; registers by DWARF number except sp and fp,
 * *( ) around an address from which a word is loaded. goN(sp+16): enum go_switch N, at which Go's runtime
 * may have switched stacks. @machine: EM_X86_64 or EM_AARCH64.
 */
void rule_text(const struct unwind_rule *rule, uint16_t machine, char text[RULE_TEXT_MAX_BYTES]);

#endif
