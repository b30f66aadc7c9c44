// SPDX-License-Identifier: Apache-2.0
#include "agent/tests/parse_options.h"

#include "lib/base/clock.h"

static void set(const char *name, const char *value)
{
	char full_name[64];

	snprintf(full_name, sizeof(full_name), "OTEL_EXPORTER_OTLP_%s", name);
	setenv(full_name, value, 1);
}

static void assert_endpoint(const char *endpoint, const char *address, bool is_plain)
{
	struct options options;

	set("ENDPOINT", endpoint);
	options = parse(NULL);
	assert_string_equal(options.collector.address, address);
	assert_int_equal(options.collector.disable_tls, is_plain);
	options_deinit(&options);
}

static void the_scheme_of_the_endpoint_says_if_there_is_tls(void **state)
{
	(void)state;
	assert_endpoint("http://host:4317", "host:4317", true);
	assert_endpoint("https://host", "host:4317", false);
	assert_endpoint("HTTPS://host:443/", "host:443", false);
	assert_endpoint("http://[::1]:5", "[::1]:5", true);
	assert_endpoint("host:1", "host:1", false);
	set("INSECURE", "true");
	assert_endpoint("host:1", "host:1", true);
	assert_endpoint("https://host", "host:4317", false);
	set("INSECURE", "False");
	assert_endpoint("host:1", "host:1", false);
}

static void what_is_for_profiles_goes_first(void **state)
{
	struct options options;

	(void)state;
	set("ENDPOINT", "http://all");
	set("PROFILES_ENDPOINT", "https://profiles");
	set("TIMEOUT", "1000");
	set("PROFILES_TIMEOUT", "2500");
	set("HEADERS", "a=1");
	set("PROFILES_HEADERS", "b=2");
	options = parse(NULL);
	assert_string_equal(options.collector.address, "profiles:4317");
	assert_false(options.collector.disable_tls);
	assert_true(options.collector.timeout_ns == 2500 * NS_PER_MS);
	assert_int_equal(options.collector.headers.count, 1);
	assert_string_equal(options.collector.headers.items[0].key, "b");
	options_deinit(&options);
}

static void options_of_our_own_go_before_all_of_them(void **state)
{
	struct options options;

	(void)state;
	set("ENDPOINT", "http://all");
	set("HEADERS", "a=1");
	set("CERTIFICATE", "/their/ca");
	set("PROTOCOL", "http/protobuf");
	setenv("ALLFRAMES_HEADER", "c=3", 1);
	options = parse("-collection-agent", "ours", "-tls-ca", "/our/ca", NULL);
	assert_string_equal(options.collector.address, "ours:4317");
	assert_false(options.collector.disable_tls);
	assert_string_equal(options.collector.tls_ca, "/our/ca");
	assert_false(options.collector.has_unused_endpoint);
	assert_int_equal(options.collector.headers.count, 1);
	assert_string_equal(options.collector.headers.items[0].key, "c");
	options_deinit(&options);
	set("PROTOCOL", "grpc");
	options = parse("-disable-tls=false", "-tls-ca=/our/ca", NULL);
	assert_string_equal(options.collector.address, "all:4317");
	assert_false(options.collector.disable_tls);
	options_deinit(&options);
}

static void certificates_of_ours_are_never_for_plain_text(void **state)
{
	struct options options;

	(void)state;
	set("ENDPOINT", "host:1");
	set("INSECURE", "true");
	options = parse("-tls-ca=/our/ca", "-header=a=secret", NULL);
	assert_false(options.collector.disable_tls);
	options_deinit(&options);
	options = parse("-tls-cert=/our/cert", "-tls-key=/our/key", NULL);
	assert_false(options.collector.disable_tls);
	options_deinit(&options);
	set("ENDPOINT", "http://host:1");
	assert_refused("leave it (or http://) out", "-tls-ca=/our/ca", NULL);
}

static void what_is_for_their_collector_is_not_told_to_ours(void **state)
{
	struct options options;

	(void)state;
	set("ENDPOINT", "http://theirs");
	set("INSECURE", "true");
	set("HEADERS", "authorization=secret");
	set("CERTIFICATE", "/their/ca");
	set("CLIENT_CERTIFICATE", "/their/cert");
	set("CLIENT_KEY", "/their/key");
	set("TIMEOUT", "2500");
	options = parse("-collection-agent", "ours", NULL);
	assert_string_equal(options.collector.address, "ours:4317");
	assert_false(options.collector.disable_tls);
	assert_int_equal(options.collector.headers.count, 0);
	assert_null(options.collector.tls_ca);
	assert_null(options.collector.tls_cert);
	assert_null(options.collector.tls_key);
	assert_true(options.collector.timeout_ns == 2500 * NS_PER_MS);
	options_deinit(&options);
}

static void an_endpoint_for_another_protocol_is_left_alone(void **state)
{
	struct options options;

	(void)state;
	set("ENDPOINT", "http://localhost:4318/v1");
	set("PROTOCOL", "http/protobuf");
	set("HEADERS", "nonsense");
	options = parse("-output", "a.folded", NULL);
	assert_null(options.collector.address);
	assert_false(options.collector.disable_tls);
	assert_int_equal(options.collector.headers.count, 0);
	assert_true(options.collector.has_unused_endpoint);
	options_deinit(&options);
	set("HEADERS", "");
	set("ENDPOINT", "http://localhost:4317");
	set("PROFILES_PROTOCOL", "grpc");
	options = parse(NULL);
	assert_string_equal(options.collector.address, "localhost:4317");
	assert_false(options.collector.has_unused_endpoint);
	options_deinit(&options);
}

static void certificates_are_taken_for_tls_only(void **state)
{
	struct options options;

	(void)state;
	set("CERTIFICATE", "/ca");
	set("CLIENT_CERTIFICATE", "/cert");
	set("CLIENT_KEY", "/key");
	set("ENDPOINT", "https://host");
	options = parse(NULL);
	assert_string_equal(options.collector.tls_ca, "/ca");
	assert_string_equal(options.collector.tls_cert, "/cert");
	assert_string_equal(options.collector.tls_key, "/key");
	options_deinit(&options);
	/* A pair is never of one certificate and the key of another. */
	assert_refused("give both", "-tls-cert=/our/cert", NULL);
	assert_refused("give both", "-tls-key=/our/key", NULL);
	options = parse("-tls-cert=/our/cert", "-tls-key=/our/key", NULL);
	assert_string_equal(options.collector.tls_ca, "/ca");
	assert_string_equal(options.collector.tls_cert, "/our/cert");
	assert_string_equal(options.collector.tls_key, "/our/key");
	options_deinit(&options);
	set("ENDPOINT", "http://host");
	options = parse(NULL);
	assert_null(options.collector.tls_ca);
	assert_null(options.collector.tls_cert);
	options_deinit(&options);
}

static void headers_are_a_list_with_percent_signs(void **state)
{
	struct options options;

	(void)state;
	set("ENDPOINT", "http://host");
	set("HEADERS", "Authorization=Bearer%20a%3Db, x-scope = 1 ,,");
	options = parse(NULL);
	assert_int_equal(options.collector.headers.count, 2);
	assert_string_equal(options.collector.headers.items[0].key, "authorization");
	assert_string_equal(options.collector.headers.items[0].value, "Bearer a=b");
	assert_string_equal(options.collector.headers.items[1].key, "x-scope");
	assert_string_equal(options.collector.headers.items[1].value, "1");
	options_deinit(&options);
}

static void timeout_and_compression_are_taken(void **state)
{
	struct options options;

	(void)state;
	set("ENDPOINT", "http://host");
	options = parse(NULL);
	assert_true(options.collector.timeout_ns == 10 * NS_PER_SECOND);
	assert_false(options.collector.no_compression);
	options_deinit(&options);
	set("TIMEOUT", "600000");
	set("COMPRESSION", "none");
	options = parse(NULL);
	assert_true(options.collector.timeout_ns == 600 * NS_PER_SECOND);
	assert_true(options.collector.no_compression);
	options_deinit(&options);
}

static void assert_value_refused(const char *name, const char *value, const char *text)
{
	set(name, value);
	assert_refused(text, NULL);
	set(name, "");
}

static void wrong_values_are_refused_by_the_name_of_the_variable(void **state)
{
	(void)state;
	assert_value_refused("ENDPOINT", "ftp://host", "OTEL_EXPORTER_OTLP_ENDPOINT=ftp://host:");
	assert_value_refused("ENDPOINT", "http://host/v1/profiles", "give http://HOST:PORT");
	set("ENDPOINT", "http://host");
	assert_value_refused("TIMEOUT", "0", "give milliseconds");
	assert_value_refused("TIMEOUT", "10s", "give milliseconds");
	assert_value_refused("COMPRESSION", "zstd", "give gzip or none");
	assert_value_refused("HEADERS", "a", "OTEL_EXPORTER_OTLP_HEADERS: give KEY=VALUE");
	assert_value_refused("HEADERS", "a=%4", "OTEL_EXPORTER_OTLP_HEADERS: a % is not");
	assert_value_refused("HEADERS", "a=%00", "OTEL_EXPORTER_OTLP_HEADERS: a % is not");
	assert_value_refused("HEADERS", "a=%0a", "printable ASCII");
	assert_value_refused("HEADERS", "a=@/etc/shadow", "begins with @");
}

static void without_an_endpoint_the_others_mean_nothing(void **state)
{
	struct options options;

	(void)state;
	set("PROTOCOL", "http/protobuf");
	set("TIMEOUT", "soon");
	set("HEADERS", "nonsense");
	options = parse(NULL);
	assert_null(options.collector.address);
	assert_int_equal(options.collector.headers.count, 0);
	options_deinit(&options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		option_test(the_scheme_of_the_endpoint_says_if_there_is_tls),
		option_test(what_is_for_profiles_goes_first),
		option_test(options_of_our_own_go_before_all_of_them),
		option_test(certificates_of_ours_are_never_for_plain_text),
		option_test(what_is_for_their_collector_is_not_told_to_ours),
		option_test(an_endpoint_for_another_protocol_is_left_alone),
		option_test(certificates_are_taken_for_tls_only),
		option_test(headers_are_a_list_with_percent_signs),
		option_test(timeout_and_compression_are_taken),
		option_test(wrong_values_are_refused_by_the_name_of_the_variable),
		option_test(without_an_endpoint_the_others_mean_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
