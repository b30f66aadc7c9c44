// SPDX-License-Identifier: Apache-2.0
/*
 * C++: exceptions through three frames, and lambdas in std::function and std::sort. Below the
 * functions named here the C++ run time and the C library do what they do.
 *
 * Before it jumps to a handler, libgcc writes the handler's registers over those that its own frame
 * has saved, the return address too, so that for a moment nobody can tell who its callers are.
 *
 * chain: START main > (.*outer.*) ANY*
 * chain: (\[error:.*\]) (.*(catcher|passer|thrower).*){1,3} __cxa_throw? _Unwind_(Resume|RaiseException) ANY{0,2}
 */
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include "target.h"

namespace
{

FRAME int thrower(int n)
{
	if (n % 2)
		throw std::runtime_error("odd");
	return n;
}

FRAME int passer(int n)
{
	std::vector<int> kept(8, n);

	return thrower(n) + kept[0];
}

FRAME int catcher(int n)
{
	try {
		return passer(n);
	} catch (const std::exception &error) {
		return error.what()[0];
	}
}

FRAME int lambdas(int n)
{
	std::vector<int> values(64);
	std::function<int(int)> scramble = [n](int i) { return (i * 7919 + n) % 1009; };

	for (int i = 0; i < 64; i++)
		values[i] = scramble(i);
	std::sort(values.begin(), values.end(), [](int a, int b) { return a > b; });
	return values[0];
}

FRAME int outer(int n)
{
	int sum = catcher(n);

	return sum + lambdas(n);
}

} // namespace

int main()
{
	volatile int sink = 0;

	target_ready();
	for (int n = 0;; n = (n + 1) & 0xffff)
		sink = outer(n);
}
