/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ exceptions: through frames with and without clean-up, thrown again, and caught.
 *
 * Before it jumps to a handler, libgcc writes the handler's registers over those that its own frame
 * has saved, the return address too, so that from then on nobody can tell who its callers are.
 * What deletes an exception ends with calls that replace their callers.
 *
 * chain: START main > _ZL5levelj{1,11} ANY*
 * chain: ANY{0,4} _Unwind_(Resume|Resume_or_Rethrow|RaiseException) uw_install_context_1? ANY?
 * chain: START main > (__cxa_begin_catch|__cxa_end_catch) ANY*
 * chain: START main > (_Unwind_DeleteException|\w*__gxx_exception_cleanup\w*) ANY*
 * chain: START main > (\w*free\w*|\w*runtime_error\w*) ANY*
 * chain: START main > (_ZL5readyPKc)? __libc_write
 */
#include <stdexcept>
#include <string>

#include "ready.h"

#define NOINLINE __attribute__((noinline))

static volatile unsigned total;

static NOINLINE unsigned leaf(unsigned value)
{
	for (int i = 0; i < 500; i++)
		value = value * 1103515245 + 12345;
	return value;
}

struct guard {
	unsigned value;
	NOINLINE ~guard()
	{
		total += leaf(value);
	}
};

static NOINLINE unsigned level(unsigned depth)
{
	guard local{ depth };

	if (!depth)
		throw std::runtime_error("the last level " + std::to_string(total));
	if (depth % 3)
		return level(depth - 1) + leaf(depth);
	try {
		return level(depth - 1) + leaf(depth);
	} catch (const std::runtime_error &) {
		total += leaf(depth);
		throw;
	}
}

int main(int, char **argv)
{
	ready(argv[1]);
	for (;;) {
		try {
			total += level(10);
		} catch (const std::exception &) {
		}
	}
}
