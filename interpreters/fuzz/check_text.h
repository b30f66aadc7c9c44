/* SPDX-License-Identifier: Apache-2.0 */
/** Checks of the texts that a language returns, for fuzzers. */
#ifndef INTERPRETERS_FUZZ_CHECK_TEXT_H
#define INTERPRETERS_FUZZ_CHECK_TEXT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/language.h"

/** Aborts unless @text is UTF-8, and no longer than names may be. */
static inline void check_text(const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	if (strlen(text) > FRAME_NAME_MAX_BYTES)
		abort();
	while (*at) {
		int more = *at < 0x80 ? 0 : *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : *at >= 0xc2 ? 1 : 9;

		if (more == 9)
			abort();
		for (at++; more; more--, at++)
			if ((*at & 0xc0) != 0x80)
				abort();
	}
}

#endif
