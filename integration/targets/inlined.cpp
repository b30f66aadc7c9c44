// SPDX-License-Identifier: Apache-2.0
/*
 * A chain of inlined functions, for names by DWARF: outer() has middle() inlined, and that inner().
 * Nearly all time is spent at the marked lines. Prints "ready"; with an argument it ends after so many
 * seconds.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace shop
{

struct Basket {
	uint64_t sum = 1;

	void outer(unsigned count);
};

[[gnu::always_inline]] static inline uint64_t inner(uint64_t value)
{
	for (unsigned i = 0; i < 1000; i++)
		value = value * 6364136223846793005u + (value >> 13); // line of inner
	return value;
}

[[gnu::always_inline]] static inline uint64_t middle(uint64_t value)
{
	return inner(value ^ 1); // line of middle
}

[[gnu::noinline]] void Basket::outer(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		sum = middle(sum); // line of outer
}

} // namespace shop

int main(int count, char **arguments)
{
	time_t end = count > 1 ? time(nullptr) + atoi(arguments[1]) : 0;
	shop::Basket basket;

	puts("ready");
	fflush(stdout);
	while (!end || time(nullptr) < end)
		basket.outer(1000); // line of main
	return basket.sum == 0;
}
