/* SPDX-License-Identifier: Apache-2.0 */
/* Starts of functions, by alignment, padding and first instruction. */
#include "stackdeltas/code/code_start.h"

#include <elf.h>

#include "stackdeltas/code/known_code.h"

enum {
	/* Of functions, by all compilers that optimise. */
	FUNCTION_ALIGNMENT = 16,
};

bool code_start_is_likely(const struct code_piece *piece, uint32_t offset)
{
	struct code_state state, entry;
	struct code_step step;

	if (known_code_is_landing(piece->machine, piece->bytes, piece->size, offset))
		return true;
	if (piece->machine == EM_X86_64 && (piece->address + offset) % FUNCTION_ALIGNMENT)
		return false;
	code_state_init(&entry, piece->machine);
	state = entry;
	piece->step(piece->bytes + offset, piece->size - offset, &state, &step);
	if (step.flow == CODE_FLOW_RETURN)
		return code_state_is_entry(&state, piece->machine);
	return state.sp.kind == CODE_FROM_CFA && state.sp.offset < entry.sp.offset;
}

bool code_start_follows(const struct code_piece *piece, const struct code_marks *marks,
			uint32_t next)
{
	uint32_t offset = next;
	struct code_step step;

	while (offset < piece->size && offset - next < FUNCTION_ALIGNMENT) {
		piece->step(piece->bytes + offset, piece->size - offset, NULL, &step);
		if (step.flow != CODE_FLOW_NOP)
			break;
		offset += step.length;
	}
	if (offset == next || offset >= piece->size)
		return false;
	/* Within a function only what paths jump to is aligned. */
	if (!code_marks_is_leader(marks, offset))
		return (piece->address + offset) % FUNCTION_ALIGNMENT == 0;
	return code_start_is_likely(piece, offset);
}
