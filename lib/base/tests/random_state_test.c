// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/random_state.h"

#include <cmocka.h>

static bool is_faked, has_entropy;
static unsigned int last_flags;

/*
 * Replaces the function of the C library: a machine that has just been started, or one that runs.
 * Other tests in the same program get the kernel's numbers.
 */
ssize_t getrandom(void *buffer, size_t bytes, unsigned int flags)
{
	last_flags = flags;
	if (!is_faked)
		return syscall(SYS_getrandom, buffer, bytes, flags);
	if (!has_entropy) {
		errno = EAGAIN;
		return -1;
	}
	memset(buffer, 0x5a, bytes);
	return (ssize_t)bytes;
}

static int start_fake(void **state)
{
	(void)state;
	is_faked = true;
	return 0;
}

static int end_fake(void **state)
{
	(void)state;
	is_faked = false;
	return 0;
}

static void the_kernels_numbers_are_taken(void **state)
{
	unsigned short words[RANDOM_STATE_WORDS] = { 0 };

	(void)state;
	has_entropy = true;
	random_state_init(words);
	for (int i = 0; i < RANDOM_STATE_WORDS; i++)
		assert_int_equal(words[i], 0x5a5a);
	assert_true(last_flags & GRND_NONBLOCK);
}

static void without_them_the_states_still_differ(void **state)
{
	unsigned short first[RANDOM_STATE_WORDS] = { 0 }, second[RANDOM_STATE_WORDS] = { 0 };

	(void)state;
	has_entropy = false;
	random_state_init(first);
	for (int i = 0; i < 1000 && (!i || !memcmp(first, second, sizeof(first))); i++)
		random_state_init(second);
	assert_memory_not_equal(first, second, sizeof(first));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernels_numbers_are_taken),
		cmocka_unit_test(without_them_the_states_still_differ),
	};

	return cmocka_run_group_tests(tests, start_fake, end_fake);
}
