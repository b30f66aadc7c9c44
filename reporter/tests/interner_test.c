/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/interner.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Items are numbers; some have equal hashes. */
static uint32_t kept_count;
static bool is_without_memory;

static uint64_t hash(const void *item)
{
	return *(const uint32_t *)item % 3;
}

static bool equal(const void *a, const void *b)
{
	return *(const uint32_t *)a == *(const uint32_t *)b;
}

static size_t bytes(const void *item)
{
	(void)item;
	return sizeof(uint32_t);
}

static void *keep(const void *item)
{
	uint32_t *copy = is_without_memory ? NULL : malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	kept_count++;
	return memcpy(copy, item, sizeof(*copy));
}

static void drop(void *item)
{
	kept_count--;
	free(item);
}

static const struct interner_ops ops = { hash, equal, bytes, keep, drop };

static int setup(void **state)
{
	static struct interner interner;

	kept_count = 0;
	is_without_memory = false;
	interner_init(&interner, &ops);
	*state = &interner;
	return 0;
}

static int teardown(void **state)
{
	interner_deinit(*state);
	return kept_count;
}

/* *@cost is the memory newly used. */
static void *add(struct interner *interner, uint32_t item, size_t *cost)
{
	void *kept;

	assert_int_equal(interner_add(interner, &item, SIZE_MAX, &kept, cost), 0);
	assert_int_equal(*(uint32_t *)kept, item);
	return kept;
}

static void equal_items_are_kept_once_until_the_last_user_goes(void **state)
{
	struct interner *interner = *state;
	size_t cost, again;
	void *kept = add(interner, 1, &cost), *other = add(interner, 4, &again);

	assert_true(cost >= sizeof(uint32_t));
	assert_int_equal(again, cost);
	assert_ptr_not_equal(kept, other);
	assert_ptr_equal(add(interner, 1, &again), kept);
	assert_int_equal(again, 0);
	assert_int_equal(interner_count(interner), 2);
	assert_int_equal(interner_remove(interner, kept), 0);
	assert_int_equal(interner_remove(interner, kept), cost);
	assert_int_equal(interner_count(interner), 1);
	assert_int_equal(kept_count, 1);
}

static void what_is_found_has_no_user_more(void **state)
{
	struct interner *interner = *state;
	size_t cost;
	void *kept = add(interner, 1, &cost);

	assert_ptr_equal(interner_find(interner, &(uint32_t){ 1 }), kept);
	assert_null(interner_find(interner, &(uint32_t){ 4 }));
	assert_int_equal(interner_remove(interner, kept), cost);
	assert_null(interner_find(interner, &(uint32_t){ 1 }));
}

static void over_the_limit_and_without_memory_nothing_changes(void **state)
{
	struct interner *interner = *state;
	size_t cost, untouched = 7;
	uint32_t item = 2;
	void *kept = add(interner, 1, &cost), *got = NULL;

	assert_int_equal(interner_add(interner, &item, cost - 1, &got, &untouched), -E2BIG);
	is_without_memory = true;
	assert_int_equal(interner_add(interner, &item, cost, &got, &untouched), -ENOMEM);
	assert_null(got);
	assert_int_equal(untouched, 7);
	assert_int_equal(interner_count(interner), 1);
	/* A known item adds no memory. */
	item = 1;
	assert_int_equal(interner_add(interner, &item, 0, &got, &untouched), 0);
	assert_ptr_equal(got, kept);
	is_without_memory = false;
	add(interner, 2, &cost);
	assert_int_equal(interner->slots.count, 2);
}

static void slots_of_items_that_went_are_used_again(void **state)
{
	enum { COUNT = 1000 };
	struct interner *interner = *state;
	void *kept[COUNT];
	size_t cost;

	for (uint32_t i = 0; i < COUNT; i++)
		kept[i] = add(interner, i, &cost);
	for (uint32_t i = 0; i < COUNT; i += 2)
		interner_remove(interner, kept[i]);
	for (uint32_t i = 0; i < COUNT; i += 2)
		add(interner, COUNT + i, &cost);
	assert_int_equal(interner->slots.count, COUNT);
	for (uint32_t i = 0; i < 2 * COUNT; i++)
		assert_int_equal(!!interner_find(interner, &i), i < COUNT ? i % 2 : !(i % 2));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(equal_items_are_kept_once_until_the_last_user_goes),
		TEST(what_is_found_has_no_user_more),
		TEST(over_the_limit_and_without_memory_nothing_changes),
		TEST(slots_of_items_that_went_are_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
