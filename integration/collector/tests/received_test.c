/* SPDX-License-Identifier: Apache-2.0 */
#include "integration/collector/received.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "integration/collector/print.h"
#include "integration/collector/tests/message_builder.h"

static struct message_bytes message;

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct received));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	received_deinit(*state);
	free(*state);
	return 0;
}

static struct incoming incoming_of(enum answer_kind kind)
{
	return (struct incoming){
		.bytes = span_of_message(&message),
		.raw_bytes = message.count,
		.wire_bytes = 100,
		.is_gzip = true,
		.is_readable = true,
		.time_ns = TEST_NOW_NS,
		.answer.kind = kind,
	};
}

static struct findings receive(struct received *received, const struct spec *spec,
			       enum answer_kind kind)
{
	struct findings findings = { 0 };
	struct request_entry entry;
	struct incoming incoming;

	build_request(&message, spec);
	incoming = incoming_of(kind);
	assert_int_equal(received_add(received, &incoming, &findings, &entry), 0);
	return findings;
}

static struct findings receive_incoming(struct received *received, struct incoming incoming)
{
	struct findings findings = { 0 };
	struct request_entry entry;

	assert_int_equal(received_add(received, &incoming, &findings, &entry), 0);
	return findings;
}

/* The output of @write, malloc'ed. */
static char *folded_text(struct received *received)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	folded_stacks_write(&received->folded, file);
	fclose(file);
	return text;
}

static void assert_folded(struct received *received, const char *expected)
{
	char *text = folded_text(received);

	assert_string_equal(text, expected);
	free(text);
}

static void stacks_are_folded_root_first(void **state)
{
	receive(*state, good_request(), ANSWER_OK);
	assert_folded(*state, "main;app+0x1200;do_work_[k] 3\n"
			      "[error: stack unreadable];app+0x1200 1\n");
}

static void frames_read_as_in_the_agents_folded_files(void **state)
{
	struct spec *spec = good_request();

	/* Changes the kernel's location into an anonymous native one with two lines. */
	spec->locations[LOCATION_KERNEL].functions = (struct spec_numbers)NUMBERS(2, 1);
	spec->locations[LOCATION_KERNEL].attributes =
		(struct spec_numbers)NUMBERS(ATTRIBUTE_NATIVE);
	spec->locations[LOCATION_KERNEL].mapping = 1;
	spec->strings[STRING_DO_WORK] = "a;b\nc";
	receive(*state, spec, ANSWER_OK);
	assert_folded(*state, "main;app+0x1200;main;a:b c_[i] 3\n"
			      "[error: stack unreadable];app+0x1200 1\n");
}

static void code_made_at_run_time_and_guesses_have_their_suffix(void **state)
{
	struct spec *spec = good_request();

	spec->strings[STRING_APP] = "[anonymous]";
	spec->strings[STRING_MAIN] = "main_[?]";
	spec->mappings[1].attributes.count = 0;
	receive(*state, spec, ANSWER_OK);
	assert_folded(*state, "main_[?];[anonymous]+0x1200_[j];do_work_[k] 3\n"
			      "[error: stack unreadable];[anonymous]+0x1200_[j] 1\n");
}

static void what_is_inlined_there_or_nearby_has_its_suffix(void **state)
{
	struct spec *spec = good_request();

	/* Gives the kernel's location two lines of Java. */
	spec->strings[STRING_THREAD_NAME] = "allframes.frame.approximate";
	spec->attributes[ATTRIBUTE_THREAD_A] =
		(struct spec_attribute){ STRING_THREAD_NAME, NULL, false, true };
	spec->attributes[ATTRIBUTE_KERNEL].text = "jvm";
	spec->locations[LOCATION_KERNEL].functions = (struct spec_numbers)NUMBERS(2, 1);
	spec->locations[LOCATION_KERNEL].attributes =
		(struct spec_numbers)NUMBERS(ATTRIBUTE_KERNEL, ATTRIBUTE_THREAD_A);
	receive(*state, spec, ANSWER_OK);
	assert_folded(*state, "main;app+0x1200;main;do_work_[~] 3\n"
			      "[error: stack unreadable];app+0x1200 1\n");
}

static void names_come_from_another_message(void **state)
{
	struct received *received = *state;
	struct location_names names = { 0 };
	struct otlp_message named = { 0 };
	struct findings findings = { 0 };
	struct spec *spec = good_request();

	spec->locations[LOCATION_APP].functions = (struct spec_numbers)NUMBERS(2, 1);
	build_request(&message, spec);
	assert_int_equal(otlp_message_decode(&named, span_of_message(&message), &findings), 0);
	assert_int_equal(location_names_add(&names, &named), 0);
	otlp_message_deinit(&named);
	received->names = &names;
	receive(received, good_request(), ANSWER_OK);
	location_names_deinit(&names);
	assert_folded(received, "main;main;do_work_[i];do_work_[k] 3\n"
				"[error: stack unreadable];main;do_work_[i] 1\n");
}

static void a_repeated_profile_counts_once(void **state)
{
	struct received *received = *state;
	struct findings findings;

	receive(received, good_request(), ANSWER_STATUS);
	assert_int_equal(received->taken.samples, 0);
	findings = receive(received, good_request(), ANSWER_OK);
	assert_int_equal(findings_count(&findings), 0);
	receive(received, good_request(), ANSWER_OK);
	assert_int_equal(received->all.samples, 12);
	assert_int_equal(received->all.profiles, 3);
	assert_int_equal(received->once.samples, 4);
	assert_int_equal(received->taken.samples, 4);
	assert_int_equal(received->folded.total, 4);
	assert_int_equal(received->log.items[2].repeated_profiles, 1);
}

static void a_profile_id_that_comes_again_with_other_bytes_breaks_a_rule(void **state)
{
	struct spec *spec = good_request();
	struct findings findings;

	receive(*state, spec, ANSWER_OK);
	spec->resources[0].attributes[1].text = "other host";
	findings = receive(*state, spec, ANSWER_OK);
	assert_int_equal(findings.rules[RULE_PROFILE_ID_ONCE].count, 1);
}

static void requests_that_are_not_compressed_break_a_rule(void **state)
{
	struct incoming incoming;
	struct findings findings;

	build_request(&message, good_request());
	incoming = incoming_of(ANSWER_OK);
	incoming.is_gzip = false;
	findings = receive_incoming(*state, incoming);
	assert_int_equal(findings.rules[RULE_GZIP].count, 1);
	assert_int_equal(findings_count(&findings), 1);
	/* The request claims to be gzip, and is not. */
	incoming.is_gzip = true;
	incoming.is_readable = false;
	incoming.raw_bytes = 0;
	findings = receive_incoming(*state, incoming);
	assert_int_equal(findings.rules[RULE_GZIP].count, 1);
}

static void requests_that_are_too_large_break_rules(void **state)
{
	struct incoming incoming;
	struct findings findings;

	build_request(&message, good_request());
	incoming = incoming_of(ANSWER_OK);
	incoming.raw_bytes = REQUEST_MAX_BYTES;
	findings = receive_incoming(*state, incoming);
	assert_int_equal(findings.rules[RULE_REQUEST_BYTES].count, 1);
	assert_int_equal(findings.rules[RULE_RECEIVE_LIMIT].count, 0);
	incoming.raw_bytes = RECEIVE_MAX_BYTES + 1;
	incoming.is_readable = false;
	findings = receive_incoming(*state, incoming);
	assert_int_equal(findings.rules[RULE_RECEIVE_LIMIT].count, 1);
	incoming.raw_bytes = REQUEST_MAX_BYTES - 1;
	incoming.is_readable = true;
	findings = receive_incoming(*state, incoming);
	assert_int_equal(findings_count(&findings), 0);
}

static void the_report_has_counts_rules_and_attributes(void **state)
{
	struct received *received = *state;
	struct spec *spec = good_request();
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	spec->resources[0].attributes[1].text = "a \"host\"\n";
	spec->stacks[2].items[0] = 0;
	receive(received, spec, ANSWER_OK);
	received_add_header(received, (struct span){ (const uint8_t *)"key", 3 },
			    (struct span){ (const uint8_t *)"value", 5 });
	received_write_report(received, file);
	fclose(file);
	assert_non_null(strstr(text, "\"samples_once\": 4"));
	assert_non_null(strstr(text, "\"22\": {\"count\": 1, \"rule\": \"a sample has a stack"));
	assert_non_null(strstr(text,
			       "{\"owner\": \"resource\", \"key\": \"host.name\", \"count\": 1, "
			       "\"values\": [\"a \\\"host\\\" \"]}"));
	assert_non_null(strstr(text, "{\"owner\": \"sample\", \"key\": \"thread.name\", "
				     "\"count\": 3, \"values\": [\"a\", \"b\"]}"));
	assert_non_null(strstr(text, "{\"owner\": \"header\", \"key\": \"key\", \"count\": 1, "
				     "\"values\": [\"value\"]}"));
	assert_non_null(strstr(text, "\"first_time_ns\": 1700000000000000000, "
				     "\"last_time_ns\": 1700000005000000000"));
	free(text);
}

static void people_can_read_what_came(void **state)
{
	struct received *received = *state;
	struct findings findings = { 0 };
	struct request_entry entry;
	struct incoming incoming;
	struct spec *spec = good_request();
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	spec->stacks[2].items[0] = 0;
	build_request(&message, spec);
	incoming = incoming_of(ANSWER_OK);
	received_add(received, &incoming, &findings, &entry);
	print_request(file, "ipv4:127.0.0.1:1", &incoming, &entry, &findings);
	print_totals(file, received);
	fclose(file);
	assert_non_null(strstr(text, "ipv4:127.0.0.1:1: 100 bytes, "));
	assert_non_null(strstr(text, "  resource: 4 samples, service.name=unknown_service:app "
				     "host.name=h\n"));
	assert_non_null(strstr(text, "  rule 22 broken 1 times: a sample has a stack"));
	assert_non_null(strstr(text, "in all: 1 requests"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stacks_are_folded_root_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(frames_read_as_in_the_agents_folded_files, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(code_made_at_run_time_and_guesses_have_their_suffix,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_inlined_there_or_nearby_has_its_suffix,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_come_from_another_message, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_repeated_profile_counts_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_profile_id_that_comes_again_with_other_bytes_breaks_a_rule, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(requests_that_are_not_compressed_break_a_rule,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(requests_that_are_too_large_break_rules, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_report_has_counts_rules_and_attributes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(people_can_read_what_came, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
