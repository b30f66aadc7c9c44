/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/symbol_cache_entry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "lib/base/clock.h"

static void what_the_file_is_to_blame_for_is_not_tried_again(void **state)
{
	struct symbol_cache_retry retry = { 0 };

	(void)state;
	assert_false(symbol_cache_retry_note(&retry, -EBADMSG));
	assert_false(symbol_cache_retry_note(&retry, -ENOENT));
	assert_false(symbol_cache_retry_note(&retry, -ETIMEDOUT));
}

static void each_try_waits_longer_and_the_last_one_comes(void **state)
{
	struct symbol_cache_retry retry = { 0 };
	uint64_t now_ns = clock_monotonic_ns(), waited_ns = 0;
	int tries = 0;

	(void)state;
	while (symbol_cache_retry_note(&retry, -EMFILE)) {
		assert_true(retry.time_ns - now_ns > 2 * waited_ns);
		waited_ns = retry.time_ns - now_ns;
		tries++;
	}
	assert_in_range(tries, 3, 10);
	assert_true(waited_ns > 600 * NS_PER_SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_file_is_to_blame_for_is_not_tried_again),
		cmocka_unit_test(each_try_waits_longer_and_the_last_one_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
