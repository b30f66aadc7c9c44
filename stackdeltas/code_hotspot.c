/* SPDX-License-Identifier: Apache-2.0 */
/* The ways of HotSpot's stubs; for all other code as compilers have it. */
#include "stackdeltas/code_hotspot.h"

#include <elf.h>

bool code_hotspot_is_entry(const struct code_piece *piece, const struct code_state *state)
{
	struct code_state compared = *state;

	compared.rbx_is_callers |= piece->is_hotspot;
	return code_state_is_entry(&compared, piece->machine);
}

bool code_hotspot_is_exit(const struct code_piece *piece, const struct code_state *state)
{
	bool is_anew = state->sp.kind == CODE_UNKNOWN;
	bool has_popped = piece->machine == EM_X86_64 && state->sp.kind == CODE_FROM_CFA &&
			  !state->sp.offset;

	return piece->is_hotspot && (is_anew || has_popped);
}

bool code_hotspot_starts(const struct code_piece *piece, const struct code_state *state)
{
	return !piece->is_hotspot || code_hotspot_is_entry(piece, state);
}

void code_hotspot_keep_return(const struct code_piece *piece, int32_t slot,
			      struct code_state *state)
{
	bool is_given_back = state->sp.kind == CODE_FROM_CFA && state->sp.offset > slot;

	if (piece->is_hotspot && !state->ra_slot && !is_given_back)
		state->ra_slot = slot;
}
