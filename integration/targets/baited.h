/* SPDX-License-Identifier: Apache-2.0 */
/**
 * COLOUR_run(ms), which calls COLOUR_outer > COLOUR_middle > COLOUR_leaf until the time is over:
 * a stack that shows when it was unwound with another file's unwind rules, or named by another
 * file's symbols. Every word of every frame is bait, the address of COLOUR_bait, which nobody calls:
 * a wrong rule finds it as a return address. REVERSED reverses the order of the functions in memory.
 * FRAME_BYTES, the size of a frame, changes no instruction's length: 16 * n + 8.
 */
#ifndef INTEGRATION_TARGETS_BAITED_H
#define INTEGRATION_TARGETS_BAITED_H

#include <time.h>

#define BAITED_PASTE_AGAIN(a, b) a##b
#define BAITED_PASTE(a, b) BAITED_PASTE_AGAIN(a, b)
#define BAITED_TEXT_AGAIN(text) #text
#define BAITED_TEXT(text) BAITED_TEXT_AGAIN(text)

#define BAITED_NAME(suffix) BAITED_PASTE(COLOUR, suffix)
#define BAITED_SYMBOL(suffix) BAITED_TEXT(COLOUR) #suffix

void BAITED_NAME(_outer)(void);
void BAITED_NAME(_run)(unsigned long ms);

/* A frame full of bait around the body of the function. */
#define BAITED_FUNCTION(suffix, body)                                                                                                                                                                          \
	__asm__(".text\n"                                                                                                                                                                                      \
		".balign 16\n"                                                                                                                                                                                 \
		".type " BAITED_SYMBOL(suffix) ", @function\n" BAITED_SYMBOL(                                                                                                                                  \
			suffix) ":\n"                                                                                                                                                                          \
				"	.cfi_startproc\n"                                                                                                                                                            \
				"	subq $" BAITED_TEXT(                                                                                                                                                   \
					FRAME_BYTES) ", %rsp\n"                                                                                                                                                \
						     "	.cfi_adjust_cfa_offset " BAITED_TEXT(                                                                                                                  \
							     FRAME_BYTES) "\n"                                                                                                                                 \
									  "	leaq " BAITED_SYMBOL(                                                                                                          \
										  _bait) "+8(%rip), %rax\n"                                                                                                    \
											 "	movl $(" BAITED_TEXT(                                                                                          \
												 FRAME_BYTES) " / 8), %ecx\n"                                                                                  \
													      "1:	movq %rax, -8(%rsp,%rcx,8)\n"                                                                \
													      "	decl %ecx\n"                                                                                   \
													      "	jnz 1b\n" body                                                                                 \
													      "	addq $" BAITED_TEXT(                                                                           \
														      FRAME_BYTES) ", %rsp\n"                                                                  \
																   "	.cfi_adjust_cfa_offset -(" BAITED_TEXT(                                \
																	   FRAME_BYTES) ")\n"                                                  \
																			"	ret\n"                                               \
																			"	.cfi_endproc\n"                                      \
																			".size " BAITED_SYMBOL(suffix) ", . - " BAITED_SYMBOL( \
																				suffix) "\n")

#define BAITED_SPIN "	movl $2000, %ecx\n2:	decl %ecx\n	jnz 2b\n"

#ifdef REVERSED
BAITED_FUNCTION(_leaf, BAITED_SPIN);
BAITED_FUNCTION(_middle, "	call " BAITED_SYMBOL(_leaf) "\n");
BAITED_FUNCTION(_outer, "	call " BAITED_SYMBOL(_middle) "\n");
BAITED_FUNCTION(_bait, BAITED_SPIN);
#else
BAITED_FUNCTION(_bait, BAITED_SPIN);
BAITED_FUNCTION(_outer, "	call " BAITED_SYMBOL(_middle) "\n");
BAITED_FUNCTION(_middle, "	call " BAITED_SYMBOL(_leaf) "\n");
BAITED_FUNCTION(_leaf, BAITED_SPIN);
#endif

static inline unsigned long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000UL + now.tv_nsec / 1000000UL;
}

__attribute__((noipa)) void BAITED_NAME(_run)(unsigned long ms)
{
	unsigned long end = now_ms() + ms;

	while (now_ms() < end)
		for (unsigned int i = 0; i < 200; i++)
			BAITED_NAME(_outer)();
}

#endif
