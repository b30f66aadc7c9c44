// SPDX-License-Identifier: Apache-2.0
#include "agent/tests/parse_options.h"

#include "lib/base/clock.h"

static void assert_address(const char *text, const char *address)
{
	struct options options = parse("-collection-agent", text, NULL);

	assert_string_equal(options.collector.address, address);
	options_deinit(&options);
}

static void without_a_collector_nothing_is_sent(void **state)
{
	struct options options = parse(NULL);

	(void)state;
	assert_null(options.collector.address);
	assert_false(options.collector.disable_tls);
	assert_true(options.collector.interval_ns == 5 * NS_PER_SECOND);
	assert_true(options.collector.jitter > 0.199 && options.collector.jitter < 0.201);
	assert_int_equal(options.collector.grouping, GROUP_BY_CONTAINER);
	assert_false(options.collector.with_cpu);
	options_deinit(&options);
}

static void a_collector_is_a_host_and_a_port(void **state)
{
	(void)state;
	assert_address("host", "host:4317");
	assert_address("otel-collector.svc.cluster_1.local:443",
		       "otel-collector.svc.cluster_1.local:443");
	assert_address("10.0.0.1", "10.0.0.1:4317");
	assert_address("[::1]", "[::1]:4317");
	assert_address("[fe80::1:2]:65535", "[fe80::1:2]:65535");
}

static void what_is_no_collector_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",	    ":4317", "host:",	 "host:0",    "host:65536", "host:4317x",
		"host:-1",  "::1",   "::1:4317", "[::1",      "[::1]4317",  "[::1]:",
		"[host]:1", "[]",    "a b",	 "host/path", "user@host",  "host\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_refused("give HOST or HOST:PORT", "-collection-agent", wrong[i], NULL);
	assert_refused("without http://", "-collection-agent", "http://host:4317", NULL);
}

static void tls_options_are_taken_together(void **state)
{
	struct options options =
		parse("-collection-agent=h", "-tls-ca=ca", "-tls-cert=c", "-tls-key=k", NULL);

	(void)state;
	assert_false(options.collector.disable_tls);
	assert_string_equal(options.collector.tls_ca, "ca");
	assert_string_equal(options.collector.tls_cert, "c");
	assert_string_equal(options.collector.tls_key, "k");
	assert_int_equal(options.collector.timeout_ns, 10 * NS_PER_SECOND);
	options_deinit(&options);
	options = parse("-collection-agent=h", "-disable-tls", NULL);
	assert_true(options.collector.disable_tls);
	options_deinit(&options);
}

static void tls_options_that_contradict_each_other_are_refused(void **state)
{
	(void)state;
	assert_refused("give both", "-collection-agent=h", "-tls-cert=c", NULL);
	assert_refused("give both", "-collection-agent=h", "-tls-key=c", NULL);
	assert_refused("leave it", "-collection-agent=h", "-disable-tls", "-tls-ca=c", NULL);
	assert_refused("leave it", "-collection-agent=h", "-disable-tls", "-tls-cert=c",
		       "-tls-key=k", NULL);
	assert_refused("give a path", "-tls-ca=", NULL);
	assert_refused("true or false", "-disable-tls=maybe", NULL);
}

static void without_a_collector_its_options_are_refused(void **state)
{
	(void)state;
	assert_refused("give -collection-agent", "-header=a=b", NULL);
	assert_refused("give -collection-agent", "-disable-tls", NULL);
	assert_refused("give -collection-agent", "-tls-ca=c", "-output=a.folded", NULL);
	assert_refused("give -collection-agent", "-tls-cert=c", "-tls-key=k", NULL);
	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://host", 1);
	setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", 1);
	assert_refused("give -collection-agent", "-header=a=b", NULL);
}

static void headers_add_up(void **state)
{
	struct options options = parse("-collection-agent=h", "-header", "Authorization=Bearer a=b",
				       "-header=x-scope=1", NULL);

	(void)state;
	assert_int_equal(options.collector.headers.count, 2);
	assert_string_equal(options.collector.headers.items[0].key, "authorization");
	assert_string_equal(options.collector.headers.items[0].value, "Bearer a=b");
	assert_string_equal(options.collector.headers.items[1].key, "x-scope");
	options_deinit(&options);
}

static void wrong_headers_are_refused_without_their_values(void **state)
{
	(void)state;
	assert_refused("-header KEY: give a header as KEY=VALUE", "-header", "secret", NULL);
	assert_refused("-header a-bin: ", "-header", "a-bin=secret", NULL);
	assert_refused("-header te: header te is gRPC's own", "-header", "te=secret", NULL);
	assert_refused("-header a: cannot read /no/such/file", "-header", "a=@/no/such/file", NULL);
	assert_refused("-header a: the value of header a has other", "-header", "a=secret\n", NULL);
	assert_null(strstr(error_text(), "secret"));
}

static void intervals_and_jitter_have_bounds(void **state)
{
	struct options options = parse("-reporter-interval=15s", "-reporter-jitter=0", NULL);

	(void)state;
	assert_true(options.collector.interval_ns == 15 * NS_PER_SECOND);
	assert_true(options.collector.jitter == 0);
	options_deinit(&options);
	assert_refused("give a duration from 100ms to 24h", "-reporter-interval=99ms", NULL);
	assert_refused("give a number from 0 to 1", "-reporter-jitter=1.5", NULL);
}

static void resources_are_grouped_in_three_ways(void **state)
{
	struct options options = parse("-resource-grouping=process", "-with-cpu", NULL);

	(void)state;
	assert_int_equal(options.collector.grouping, GROUP_BY_PROCESS);
	assert_true(options.collector.with_cpu);
	options_deinit(&options);
	options = parse("-resource-grouping", "service", NULL);
	assert_int_equal(options.collector.grouping, GROUP_BY_SERVICE);
	options_deinit(&options);
	assert_refused("give process, container or service", "-resource-grouping=host", NULL);
}

static void native_names_are_sent_on_demand(void **state)
{
	struct options options = parse("-disable-tls=false", NULL);

	(void)state;
	assert_int_equal(options.collector.symbolize, SYMBOLIZE_NONE);
	options_deinit(&options);
	options = parse("-symbolize=symtab", NULL);
	assert_int_equal(options.collector.symbolize, SYMBOLIZE_SYMTAB);
	options_deinit(&options);
	setenv("ALLFRAMES_SYMBOLIZE", "full", 1);
	options = parse("-disable-tls=false", NULL);
	assert_int_equal(options.collector.symbolize, SYMBOLIZE_FULL);
	options_deinit(&options);
	unsetenv("ALLFRAMES_SYMBOLIZE");
	assert_refused("give none, symtab or full", "-symbolize=all", NULL);
}

static void all_of_them_come_from_the_environment_too(void **state)
{
	struct options options;

	(void)state;
	setenv("ALLFRAMES_COLLECTION_AGENT", "host:1", 1);
	setenv("ALLFRAMES_DISABLE_TLS", "true", 1);
	setenv("ALLFRAMES_HEADER", "a=b,c", 1);
	setenv("ALLFRAMES_REPORTER_JITTER", "0.5", 1);
	options = parse(NULL);
	assert_string_equal(options.collector.address, "host:1");
	assert_true(options.collector.disable_tls);
	assert_string_equal(options.collector.headers.items[0].value, "b,c");
	assert_true(options.collector.jitter == 0.5);
	options_deinit(&options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		option_test(without_a_collector_nothing_is_sent),
		option_test(a_collector_is_a_host_and_a_port),
		option_test(what_is_no_collector_is_refused),
		option_test(tls_options_are_taken_together),
		option_test(tls_options_that_contradict_each_other_are_refused),
		option_test(without_a_collector_its_options_are_refused),
		option_test(headers_add_up),
		option_test(wrong_headers_are_refused_without_their_values),
		option_test(intervals_and_jitter_have_bounds),
		option_test(resources_are_grouped_in_three_ways),
		option_test(native_names_are_sent_on_demand),
		option_test(all_of_them_come_from_the_environment_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
