/* SPDX-License-Identifier: Apache-2.0 */
/* Text of rules. */
#include "stackdeltas/rule_text.h"

#include <elf.h>
#include <stdio.h>

#include "lib/model/languages.h"

enum { PART_MAX_BYTES = 48 };

static void cfa_text(const struct unwind_rule *rule, char text[PART_MAX_BYTES])
{
	const struct language_id *language;
	char base[16];

	snprintf(base, sizeof(base), "r%u", rule->cfa_register);
	switch (rule->cfa) {
	case CFA_SP:
		snprintf(text, PART_MAX_BYTES, "sp%+d", rule->cfa_offset);
		break;
	case CFA_FP:
		snprintf(text, PART_MAX_BYTES, "fp%+d", rule->cfa_offset);
		break;
	case CFA_REGISTER:
		snprintf(text, PART_MAX_BYTES, "%s%+d", base, rule->cfa_offset);
		break;
	case CFA_DEREF_SP:
		snprintf(text, PART_MAX_BYTES, "*(sp%+d)%+d", rule->cfa_offset, rule->cfa_addend);
		break;
	case CFA_DEREF_FP:
		snprintf(text, PART_MAX_BYTES, "*(fp%+d)%+d", rule->cfa_offset, rule->cfa_addend);
		break;
	case CFA_DEREF_REGISTER:
		snprintf(text, PART_MAX_BYTES, "*(%s%+d)%+d", base, rule->cfa_offset,
			 rule->cfa_addend);
		break;
	case CFA_DEREF_SP_INDEXED:
		snprintf(text, PART_MAX_BYTES, "*(sp%+d+8*%s)%+d", rule->cfa_offset, base,
			 rule->cfa_addend);
		break;
	case CFA_LANGUAGE:
		language = language_by_kind((uint8_t)rule->cfa_addend);
		snprintf(text, PART_MAX_BYTES, "%.16s%u(sp%+d)", language ? language->name : "?",
			 rule->cfa_register, rule->cfa_offset);
		break;
	case CFA_JAVA_ENTRY:
		snprintf(text, PART_MAX_BYTES, "entry(sp%+d%s)", rule->cfa_offset,
			 rule->cfa_addend ? "+rbx" : "");
		break;
	default:
		snprintf(text, PART_MAX_BYTES, "sp%+d+(pc%%16>=%d)*8", rule->cfa_offset,
			 rule->cfa_addend);
		break;
	}
}

static void saved_text(uint8_t kind, int16_t offset, const char *same, char text[PART_MAX_BYTES])
{
	switch (kind) {
	case SAVED_SAME:
		snprintf(text, PART_MAX_BYTES, "%s", same);
		break;
	case SAVED_AT_CFA:
		snprintf(text, PART_MAX_BYTES, "cfa%+d", offset);
		break;
	case SAVED_AT_FP:
		snprintf(text, PART_MAX_BYTES, "*(fp%+d)", offset);
		break;
	case SAVED_AT_SP:
		snprintf(text, PART_MAX_BYTES, "*(sp%+d)", offset);
		break;
	case SAVED_IN_THREAD:
		snprintf(text, PART_MAX_BYTES, "*(thread%+d)", offset);
		break;
	case SAVED_IN_REGISTER:
		snprintf(text, PART_MAX_BYTES, "r%d", offset);
		break;
	default:
		snprintf(text, PART_MAX_BYTES, "undefined");
		break;
	}
}

void rule_text(const struct unwind_rule *rule, uint16_t machine, char text[RULE_TEXT_MAX_BYTES])
{
	char cfa[PART_MAX_BYTES], ra[PART_MAX_BYTES], fp[PART_MAX_BYTES], rbx[PART_MAX_BYTES] = "";

	switch (rule->cfa) {
	case CFA_NONE:
		snprintf(text, RULE_TEXT_MAX_BYTES, "none");
		return;
	case CFA_END:
		snprintf(text, RULE_TEXT_MAX_BYTES,
			 rule->flags & RULE_BEGINS_STACK ? "begin of a stack" : "end");
		return;
	case CFA_SIGNAL:
		snprintf(text, RULE_TEXT_MAX_BYTES, "signal");
		return;
	case CFA_CONTEXT:
		snprintf(text, RULE_TEXT_MAX_BYTES, "context(r%u)", rule->cfa_register);
		return;
	case CFA_UNSUPPORTED:
		snprintf(text, RULE_TEXT_MAX_BYTES, "unsupported");
		return;
	default:
		break;
	}
	cfa_text(rule, cfa);
	saved_text(rule->ra, rule->ra_offset, machine == EM_AARCH64 ? "lr" : "same", ra);
	saved_text(rule->fp, rule->fp_offset, "same", fp);
	if (rule->rbx_slot == RBX_LOST)
		snprintf(rbx, sizeof(rbx), " rbx=undefined");
	else if (rule->rbx_slot)
		snprintf(rbx, sizeof(rbx), " rbx=cfa%+d", -8 * rule->rbx_slot);
	snprintf(text, RULE_TEXT_MAX_BYTES, "cfa=%s ra=%s fp=%s%s%s%s%s%s", cfa, ra, fp, rbx,
		 rule->flags & RULE_SWITCHES_STACK ? " other stack" : "",
		 rule->flags & RULE_GUESS ? " guess" : "",
		 rule->flags & RULE_ENDS_IN_CHILD ? " end in child" : "",
		 rule->flags & RULE_COPIES_STACKS ? " copies stacks" : "");
}
