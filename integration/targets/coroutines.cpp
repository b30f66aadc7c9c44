// SPDX-License-Identifier: Apache-2.0
/*
 * C++20 coroutines: a generator that awaits another one. What is walked is the physical stack: who
 * resumed whom.
 *
 * chain: START main > (.*drive.*) (.*(outer|inner|resume|next|leaf|operator|generator|coroutine|promise).*){0,8} ANY{0,2}
 */
#include <coroutine>
#include <cstdlib>

#include "target.h"

struct generator {
	struct promise_type {
		unsigned long value = 0;

		generator get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		std::suspend_always initial_suspend()
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		std::suspend_always yield_value(unsigned long n)
		{
			value = n;
			return {};
		}
		void unhandled_exception()
		{
			abort();
		}
		void return_void()
		{
		}
	};

	std::coroutine_handle<promise_type> handle;

	FRAME unsigned long next()
	{
		handle.resume();
		return handle.promise().value;
	}
};

FRAME unsigned long leaf(unsigned long n)
{
	return n + work(200);
}

static generator inner()
{
	for (unsigned long n = 0;; n++)
		co_yield leaf(n);
}

static generator outer()
{
	generator source = inner();

	for (;;)
		co_yield source.next() + 1;
}

FRAME unsigned long drive(generator &source)
{
	return source.next() + source.next();
}

int main()
{
	generator source = outer();
	volatile unsigned long sink = 0;

	target_ready();
	for (;;)
		sink = sink + drive(source);
}
