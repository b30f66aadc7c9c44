// SPDX-License-Identifier: Apache-2.0
#include "reporter/grpc_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#define FAILED "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:4317: "
#define ALERT FAILED "Ssl handshake failed: SSL_ERROR_SSL: error:0A000000:SSL routines::"

static struct transport_answer read_answer(grpc_status_code status, const char *details,
					   bool is_plain)
{
	struct transport_answer answer = { .retry_delay_ns = UINT64_MAX };
	const grpc_metadata_array no_trailers = { 0 };

	grpc_read_answer(&answer, status, grpc_slice_from_static_string(details), &no_trailers,
			 NULL, is_plain);
	return answer;
}

static void assert_cause(const char *details, bool is_plain, const char *expected)
{
	struct transport_answer answer = read_answer(GRPC_STATUS_UNAVAILABLE, details, is_plain);

	assert_int_equal(answer.status, RPC_UNAVAILABLE);
	if (!strstr(answer.message, expected))
		fail_msg("'%s' does not tell '%s'", answer.message, expected);
}

static void alerts_about_certificates_are_about_the_clients(void **state)
{
	static const char text[] = "it does not accept the client certificate";

	(void)state;
	assert_cause(ALERT "tlsv13 alert certificate required", false, text);
	assert_cause(ALERT "sslv3 alert bad certificate", false, text);
	assert_cause(ALERT "ssl/tls alert certificate expired", false, text);
	assert_cause(ALERT "tlsv1 alert unknown ca", false, text);
}

static void other_alerts_are_told_as_they_are(void **state)
{
	(void)state;
	assert_cause(ALERT "tlsv1 alert protocol version", false,
		     "it refuses the TLS handshake: protocol version");
	assert_cause(ALERT "sslv3 alert handshake failure", false,
		     "it refuses the TLS handshake: handshake failure");
	assert_cause(ALERT "tlsv1 alert no application protocol", false,
		     "it refuses the TLS handshake: no application protocol");
}

static void a_connection_that_fails_has_a_cause(void **state)
{
	(void)state;
	assert_cause(FAILED "Connection refused", true, "it refuses the connection");
	assert_cause(ALERT "wrong version number", false, "it speaks no TLS");
	assert_cause(ALERT "certificate verify failed", false, "signed by no CA");
	assert_cause(FAILED "Socket closed", true, "it may want TLS");
	assert_cause(FAILED "Socket closed", false, "it may want a client certificate");
	assert_cause("an alert of its own", false, "it is not available: an alert of its own");
}

static void a_status_that_is_none_is_unknown(void **state)
{
	(void)state;
	assert_int_equal(read_answer(77, "x", true).status, RPC_UNKNOWN);
	assert_int_equal(read_answer(-1, "x", true).status, RPC_UNKNOWN);
	assert_string_equal(read_answer(GRPC_STATUS_INTERNAL, "", true).message,
			    "it failed inside");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alerts_about_certificates_are_about_the_clients),
		cmocka_unit_test(other_alerts_are_told_as_they_are),
		cmocka_unit_test(a_connection_that_fails_has_a_cause),
		cmocka_unit_test(a_status_that_is_none_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
