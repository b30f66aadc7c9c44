/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/perl/perl_layout.h"

#include <stddef.h>

static const struct perl_layout layouts[] = {
	{
		.minor = 32,
		.op = 8,
		.cop = 224,
		.stack = 240,
		.saved = 40,
		.saved_count = 48,
		.run = 2304,
		.saved_op_type = 18,
		.has_stash_behind = true,
		.entersub = 184,
		.leavesub = 185,
		.leavesublv = 186,
		.entertry = 347,
		.goto_sub = 210,
		.enter = 198,
		.subst = 32,
	},
	{
		.minor = 36,
		.op = 8,
		.cop = 208,
		.stack = 224,
		.saved = 40,
		.saved_count = 48,
		.run = 2288,
		.saved_op_type = 18,
		.entersub = 184,
		.leavesub = 185,
		.leavesublv = 186,
		.entertry = 347,
		.goto_sub = 210,
		.enter = 198,
		.subst = 32,
	},
	{
		.minor = 40,
		.op = 8,
		.cop = 208,
		.stack = 224,
		.saved = 40,
		.saved_count = 48,
		.run = 2072,
		.saved_op_type = 19,
		.calls_in_loop = true,
		.entersub = 187,
		.leavesub = 188,
		.leavesublv = 189,
		.entertry = 350,
		.goto_sub = 213,
		.enter = 201,
		.subst = 33,
	},
	{
		.minor = 42,
		.op = 8,
		.cop = 208,
		.stack = 224,
		.saved = 40,
		.saved_count = 48,
		.run = 2072,
		.saved_op_type = 19,
		.calls_in_loop = true,
		.entersub = 191,
		.leavesub = 192,
		.leavesublv = 193,
		.entertry = 354,
		.goto_sub = 217,
		.enter = 205,
		.subst = 33,
	},
};

const struct perl_layout *perl_layout_of(unsigned int minor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}
