// SPDX-License-Identifier: Apache-2.0
/* The transport against gRPC's own server in this process, in plain text. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/base/error.h"
#include "reporter/grpc_transport.h"
#include "reporter/otlp_answer.h"

#include <cmocka.h>

#include "reporter/tests/grpc_client.h"

#define METHOD "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

static int set_up(void **state)
{
	(void)state;
	clear_grpc_environment();
	return 0;
}

static void a_request_arrives_as_it_is(void **state)
{
	struct grpc_test_server *server = server_start(NULL, 0);
	struct client *client = plain_client(server);
	static uint8_t bytes[3 << 20];
	struct transport_answer answer;

	(void)state;
	server->behaviour.response = "";
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i >> 7);
	transport_headers_add(&client->headers, "authorization", "Bearer x");
	answer = send_within(client, bytes, sizeof(bytes), TIMEOUT_NS);
	assert_answer(&answer, RPC_OK, "");
	assert_string_equal(answer.message, "");
	assert_true(answer.retry_delay_ns == UINT64_MAX);
	assert_string_equal(server->method, METHOD);
	assert_int_equal(server->request_bytes, sizeof(bytes));
	assert_memory_equal(server->request, bytes, sizeof(bytes));
	assert_string_equal(server_metadata(server, "authorization"), "Bearer x");
	assert_ptr_equal(strstr(server_metadata(server, "user-agent"), "agent/1.2"),
			 server_metadata(server, "user-agent"));
	client_destroy(client);
	server_stop(server);
}

static void every_status_comes_back_with_its_text(void **state)
{
	struct grpc_test_server *server = server_start(NULL, 0);
	struct client *client = plain_client(server);
	struct transport_answer answer;

	(void)state;
	server->behaviour.details = "because\nI say so";
	for (int status = RPC_CANCELLED; status <= RPC_UNAUTHENTICATED; status++) {
		server->behaviour.status = (grpc_status_code)status;
		answer = send_one(client);
		assert_answer(&answer, (enum rpc_status)status, "because I say so");
		assert_true(answer.retry_delay_ns == UINT64_MAX);
		assert_true(strlen(answer.message) > strlen("because I say so"));
	}
	assert_int_equal(server->call_count, RPC_UNAUTHENTICATED);
	server->behaviour.status = (grpc_status_code)77;
	answer = send_one(client);
	assert_answer(&answer, RPC_UNKNOWN, "because");
	client_destroy(client);
	server_stop(server);
}

static void retry_info_is_read(void **state)
{
	static const char details[] = "\x08\x08\x1a\x30\x0a\x28"
				      "type.googleapis.com/google.rpc.RetryInfo"
				      "\x12\x04\x0a\x02\x08\x03";
	struct grpc_test_server *server = server_start(NULL, 0);
	struct client *client = plain_client(server);
	struct transport_answer answer;

	(void)state;
	server->behaviour = (struct server_behaviour){
		.status = GRPC_STATUS_RESOURCE_EXHAUSTED,
		.status_details = details,
		.status_details_bytes = sizeof(details) - 1,
	};
	answer = send_one(client);
	assert_answer(&answer, RPC_RESOURCE_EXHAUSTED, "");
	assert_true(answer.retry_delay_ns == 3 * NS_PER_SECOND);
	client_destroy(client);
	server_stop(server);
}

static void a_partial_success_is_read(void **state)
{
	struct grpc_test_server *server = server_start(NULL, 0);
	struct client *client = plain_client(server);
	struct transport_answer answer;

	(void)state;
	server->behaviour.response = "\x0a\x07\x08\x03\x12\x03low";
	server->behaviour.response_bytes = 9;
	answer = send_one(client);
	assert_answer(&answer, RPC_OK, "low");
	assert_int_equal(answer.rejected_count, 3);
	client_destroy(client);
	server_stop(server);
}

static void what_is_no_answer_is_said_to_be_none(void **state)
{
	struct grpc_test_server *server = server_start(NULL, 0);
	struct client *client = plain_client(server);
	struct transport_answer answer;

	(void)state;
	server->behaviour.response = "<html>garbage";
	server->behaviour.response_bytes = 13;
	answer = send_one(client);
	assert_answer(&answer, RPC_OK, "cannot be understood");
	assert_int_equal(answer.rejected_count, 0);
	server->behaviour.response = NULL;
	answer = send_one(client);
	assert_true(answer.status != RPC_OK || strstr(answer.message, "no answer"));
	client_destroy(client);
	server_stop(server);
}

static size_t pack(const void *bytes, size_t count, void *packed, size_t packed_bytes)
{
	z_stream stream = { .next_in = (void *)bytes, .avail_in = (unsigned int)count };

	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 16 + 15, 9, Z_DEFAULT_STRATEGY),
			 Z_OK);
	stream.next_out = packed;
	stream.avail_out = (unsigned int)packed_bytes;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	return stream.total_out;
}

static void a_packed_answer_is_read_and_a_bomb_is_none(void **state)
{
	static uint8_t packed[1 << 16], zeros[16 << 20];
	struct grpc_test_server *server = server_start(NULL, 0);
	struct client *client = plain_client(server);
	struct transport_answer answer;

	(void)state;
	server->behaviour.packed_as = GRPC_COMPRESS_GZIP;
	server->behaviour.response = packed;
	server->behaviour.response_bytes =
		pack("\x0a\x07\x08\x03\x12\x03low", 9, packed, sizeof(packed));
	answer = send_one(client);
	assert_answer(&answer, RPC_OK, "low");
	assert_int_equal(answer.rejected_count, 3);
	server->behaviour.response_bytes = pack(zeros, sizeof(zeros), packed, sizeof(packed));
	answer = send_one(client);
	assert_answer(&answer, RPC_OK, "cannot be understood");
	client_destroy(client);
	server_stop(server);
}

static void a_large_answer_is_not_taken(void **state)
{
	static uint8_t large[OTLP_ANSWER_MAX_BYTES + 1];
	struct grpc_test_server *server = server_start(NULL, 0);
	struct client *client = plain_client(server);
	struct transport_answer answer;

	(void)state;
	server->behaviour.response = large;
	server->behaviour.response_bytes = sizeof(large);
	answer = send_one(client);
	assert_answer(&answer, RPC_RESOURCE_EXHAUSTED, "larger than max");
	assert_true(answer.retry_delay_ns == UINT64_MAX);
	client_destroy(client);
	server_stop(server);
}

static void a_call_without_an_answer_ends_at_its_deadline(void **state)
{
	struct grpc_test_server *server = server_start(NULL, 0);
	struct client *client = plain_client(server);
	struct transport_answer answer;

	(void)state;
	server->behaviour.hangs = true;
	answer = send_within(client, "request", 7, 200 * NS_PER_MS);
	assert_answer(&answer, RPC_DEADLINE_EXCEEDED, "does not answer in time");
	client_destroy(client);
	server_stop(server);
}

static void a_stream_that_is_reset_is_a_failure(void **state)
{
	struct grpc_test_server *server = server_start(NULL, 0);
	struct client *client = plain_client(server);
	struct transport_answer answer;

	(void)state;
	server->behaviour.resets = true;
	answer = send_one(client);
	assert_answer(&answer, RPC_CANCELLED, "cancelled");
	server->behaviour = (struct server_behaviour){ .response = "" };
	answer = send_one(client);
	assert_answer(&answer, RPC_OK, "");
	client_destroy(client);
	server_stop(server);
}

static void *cancel_when_called(void *argument)
{
	struct client *client = ((void **)argument)[0];
	struct grpc_test_server *server = ((void **)argument)[1];
	struct transport *transport = grpc_transport_base(client->transport);

	while (!__atomic_load_n(&server->call_count, __ATOMIC_SEQ_CST))
		usleep(1000);
	transport->ops->cancel(transport);
	return NULL;
}

static void cancel_ends_the_call_and_all_later_ones(void **state)
{
	struct grpc_test_server *server = server_start(NULL, 0);
	struct client *client = plain_client(server);
	void *argument[] = { client, server };
	struct transport_answer answer;
	pthread_t thread;

	(void)state;
	server->behaviour.hangs = true;
	pthread_create(&thread, NULL, cancel_when_called, argument);
	answer = send_one(client);
	assert_answer(&answer, RPC_CANCELLED, "");
	pthread_join(thread, NULL);
	answer = send_one(client);
	assert_answer(&answer, RPC_CANCELLED, "");
	assert_int_equal(server->call_count, 1);
	client_destroy(client);
	server_stop(server);
}

/* Calls until there is a connection again; the earlier calls have requested it. */
static struct transport_answer send_until_taken(struct client *client)
{
	struct transport_answer answer;

	for (int i = 0; i < 500; i++) {
		answer = send_one(client);
		if (answer.status == RPC_OK)
			break;
		usleep(20000);
	}
	return answer;
}

static void a_collector_that_comes_back_is_found_again(void **state)
{
	struct grpc_test_server *server = server_start(NULL, 0);
	struct client *client = plain_client(server);
	int port = server->port;
	struct transport_answer answer;

	(void)state;
	server->behaviour.response = "";
	answer = send_one(client);
	assert_answer(&answer, RPC_OK, "");
	server_stop(server);
	/* The first call may still use the connection that is being closed. */
	answer = send_one(client);
	assert_answer(&answer, RPC_UNAVAILABLE, "");
	for (int i = 0; i < 3; i++) {
		answer = send_one(client);
		assert_answer(&answer, RPC_UNAVAILABLE, "refuses the connection");
	}
	server = server_start(NULL, port);
	server->behaviour.response = "";
	answer = send_until_taken(client);
	assert_answer(&answer, RPC_OK, "");
	client_destroy(client);
	server_stop(server);
}

static void a_name_that_is_none_is_said_to_be_so(void **state)
{
	const struct transport_headers headers = { 0 };
	const struct grpc_transport_options options = {
		.address = "no-such-host.invalid:1",
		.is_plain = true,
		.headers = &headers,
		.user_agent = "agent/1.2",
	};
	struct grpc_transport *transport;
	struct transport_answer answer;

	(void)state;
	assert_int_equal(grpc_transport_create(&options, &transport), 0);
	grpc_transport_base(transport)->ops->send(grpc_transport_base(transport), METHOD, "", 0,
						  20 * NS_PER_SECOND, &answer);
	grpc_transport_destroy(transport);
	/* If no name server answers, nobody can tell that the name does not exist. */
	if (answer.status == RPC_DEADLINE_EXCEEDED)
		skip();
	assert_answer(&answer, RPC_UNAVAILABLE, "cannot be resolved");
}

static void a_header_whose_file_is_gone_fails_the_call_only(void **state)
{
	struct grpc_test_server *server = server_start(NULL, 0);
	struct client *client = plain_client(server);
	struct transport_answer answer;
	char value[] = "@/tmp/grpc_transport_XXXXXX";
	int fd = mkstemp(value + 1);

	(void)state;
	assert_int_equal(write(fd, "first\n", 6), 6);
	close(fd);
	server->behaviour.response = "";
	assert_int_equal(transport_headers_add(&client->headers, "token", value), 0);
	answer = send_one(client);
	assert_answer(&answer, RPC_OK, "");
	assert_string_equal(server_metadata(server, "token"), "first");
	unlink(value + 1);
	answer = send_one(client);
	assert_answer(&answer, RPC_UNAVAILABLE, "cannot read");
	assert_int_equal(server->call_count, 1);
	client_destroy(client);
	server_stop(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_arrives_as_it_is),
		cmocka_unit_test(every_status_comes_back_with_its_text),
		cmocka_unit_test(retry_info_is_read),
		cmocka_unit_test(a_partial_success_is_read),
		cmocka_unit_test(what_is_no_answer_is_said_to_be_none),
		cmocka_unit_test(a_packed_answer_is_read_and_a_bomb_is_none),
		cmocka_unit_test(a_large_answer_is_not_taken),
		cmocka_unit_test(a_call_without_an_answer_ends_at_its_deadline),
		cmocka_unit_test(a_stream_that_is_reset_is_a_failure),
		cmocka_unit_test(cancel_ends_the_call_and_all_later_ones),
		cmocka_unit_test(a_collector_that_comes_back_is_found_again),
		cmocka_unit_test(a_name_that_is_none_is_said_to_be_so),
		cmocka_unit_test(a_header_whose_file_is_gone_fails_the_call_only),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
