// SPDX-License-Identifier: Apache-2.0
/*
 * A runtime, and a program in the language Demo, whose functions call each other by way of C: for ever main() >
 * demo_run() [outer] > c_between() > demo_run() [inner] > spin(). For integration/demo_language_test.py, which compiles
 * it; nobody else does.
 */
#include <stdint.h>
#include <stdio.h>

struct demo_function {
	uint64_t id;
	char name[24];
	void (*body)(void);
};

struct demo_frame {
	struct demo_frame *caller;
	const struct demo_function *function;
	uint64_t line;
};

const uint32_t demo_version = 1;
struct demo_frame *demo_top;
volatile uint64_t sink;

/* The counterpart of CPython's loop: the one function of C that runs functions of the language. */
__attribute__((noinline)) void demo_run(const struct demo_function *function)
{
	struct demo_frame frame = { demo_top, function, 10 * (function->id & 0xff) };

	__asm__ volatile("" ::: "memory");
	demo_top = &frame;
	function->body();
	demo_top = frame.caller;
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void spin(void)
{
	for (int i = 0; i < 1000000; i++)
		sink = sink * 31 + (uint64_t)i;
	__asm__ volatile("");
}

static const struct demo_function inner = { 0x123456789a02, "inner", spin };

__attribute__((noinline)) void c_between(void)
{
	demo_run(&inner);
	__asm__ volatile("");
}

static const struct demo_function outer = { 0x123456789a01, "outer", c_between };

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		demo_run(&outer);
}
