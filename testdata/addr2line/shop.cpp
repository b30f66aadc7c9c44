/* SPDX-License-Identifier: Apache-2.0 */
/* Templates, lambdas, virtual functions, functions of C, and much of the library inlined. */
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace shop
{
template <class T> struct box {
	T value;

	T get() const
	{
		return value * 2 + side();
	}
	T side() const;
};

template <class T> T box<T>::side() const
{
	return value ^ 5;
}

static int twice(int x)
{
	return x + x;
}

struct base {
	virtual ~base()
	{
	}
	virtual int run(int x) = 0;
};

struct derived : base {
	int factor;

	explicit derived(int factor) : factor(factor)
	{
	}
	int run(int x) override
	{
		return twice(x) * factor;
	}
};
}

extern "C" int of_c(int x)
{
	return shop::twice(x) + 1;
}

static std::map<std::string, int> words;

int count(const char *word)
{
	return ++words[word];
}

int main(int argc, char **argv)
{
	std::vector<int> values;
	int sum = 0;

	for (int i = 0; i < argc * 100; i++)
		values.push_back(shop::box<int>{ i }.get());
	std::sort(values.begin(), values.end(), [](int a, int b) { return a % 7 < b % 7; });
	shop::base *thing = new shop::derived(argc);
	std::function<int(int)> price = [&](int x) { return thing->run(x) + of_c(x); };
	for (int value : values)
		sum += price(value) + count(argv[0]);
	std::printf("%d\n", sum);
	delete thing;
	return 0;
}
