/* SPDX-License-Identifier: Apache-2.0 */
/** Asserts the rules that a changed request breaks. */
#ifndef INTEGRATION_COLLECTOR_TESTS_RULE_ASSERTS_H
#define INTEGRATION_COLLECTOR_TESTS_RULE_ASSERTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "integration/collector/check_profiles.h"
#include "integration/collector/tests/message_builder.h"

static struct message_bytes message;

static inline void check_bytes(struct findings *findings)
{
	struct otlp_message decoded = { 0 };

	memset(findings, 0, sizeof(*findings));
	assert_int_equal(otlp_message_decode(&decoded, span_of_message(&message), findings), 0);
	assert_int_equal(check_message(&decoded, TEST_NOW_NS, findings), 0);
	otlp_message_deinit(&decoded);
}

/** Asserts that @rule is broken; the same change may break others. */
static inline void assert_breaks(const struct spec *spec, enum rule rule)
{
	struct findings findings;

	build_request(&message, spec);
	check_bytes(&findings);
	if (!findings.rules[rule].count)
		print_error("rule %d is not reported: %s\n", rule, rule_text(rule));
	assert_true(findings.rules[rule].count);
	assert_true(*findings.rules[rule].example);
}

/** Asserts that only @rule is broken, and once. */
static inline void assert_breaks_only(const struct spec *spec, enum rule rule)
{
	struct findings findings;

	assert_breaks(spec, rule);
	check_bytes(&findings);
	for (int i = 0; i < RULE_COUNT; i++) {
		if (findings.rules[i].count != (i == (int)rule))
			print_error("rule %d, %s: %d times: %s\n", i, rule_text(i),
				    (int)findings.rules[i].count, findings.rules[i].example);
		assert_int_equal(findings.rules[i].count, i == (int)rule);
	}
}

/** Asserts that the good request with @bytes appended breaks @rule. */
static inline void assert_bytes_break(enum rule rule, const char *bytes, size_t count)
{
	struct findings findings;

	build_request(&message, good_request());
	for (size_t i = 0; i < count; i++)
		put_byte(&message, bytes[i]);
	check_bytes(&findings);
	assert_true(findings.rules[rule].count);
}

static inline struct spec_profile *profile_of(struct spec *spec)
{
	return &spec->resources[0].profiles[0];
}

#endif
