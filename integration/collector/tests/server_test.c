/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the server with a client on the C core, both in this thread. */

#include "integration/collector/server.h"

#include <errno.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Included before cmocka, whose macro fail() conflicts with it. */
#include "lib/base/error.h"

#include <cmocka.h>

#include "lib/base/clock.h"

enum { TEXT_BYTES = 256 };

static const char request[] =
	"the same request, the same request, the same request, the same request";

struct fixture {
	struct server *server;
	grpc_completion_queue *queue;
	grpc_channel *channel;
	struct answer answer;
	/* Counts of the server's messages. */
	unsigned int messages;
	size_t message_bytes;
	bool is_gzip;
	bool is_plain_text;
	char method[TEXT_BYTES];
	char header[TEXT_BYTES];
	/* The client's result. */
	grpc_status_code status;
	char status_text[TEXT_BYTES];
	char response[TEXT_BYTES];
	int response_bytes;
	size_t details_bytes;
};

static void take_method(void *context, struct span method)
{
	struct fixture *fixture = context;

	snprintf(fixture->method, TEXT_BYTES, "%.*s", (int)method.count,
		 (const char *)method.bytes);
}

static void take_header(void *context, struct span key, struct span value)
{
	struct fixture *fixture = context;

	if (key.count == 5 && !memcmp(key.bytes, "x-key", 5))
		snprintf(fixture->header, TEXT_BYTES, "%.*s", (int)value.count,
			 (const char *)value.bytes);
}

static struct answer take_message(void *context, const struct server_message *message)
{
	struct fixture *fixture = context;

	fixture->messages++;
	fixture->message_bytes = message->bytes.count;
	fixture->is_gzip = message->is_gzip;
	fixture->is_plain_text = message->bytes.count == strlen(request) &&
				 !memcmp(message->bytes.bytes, request, strlen(request));
	assert_non_null(strstr(message->peer, "127.0.0.1"));
	return fixture->answer;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct server_handler handler = {
		.method = take_method,
		.header = take_header,
		.message = take_message,
		.context = fixture,
	};
	struct server_options options = { .listen = "127.0.0.1:0" };
	grpc_channel_credentials *credentials;
	char target[TEXT_BYTES];
	int port;

	grpc_init();
	assert_int_equal(server_create(&options, &handler, &fixture->server, &port), 0);
	fixture->queue = grpc_completion_queue_create_for_next(NULL);
	snprintf(target, sizeof(target), "127.0.0.1:%d", port);
	credentials = grpc_insecure_credentials_create();
	fixture->channel = grpc_channel_create(target, credentials, NULL);
	grpc_channel_credentials_release(credentials);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	grpc_event event;

	grpc_channel_destroy(fixture->channel);
	grpc_completion_queue_shutdown(fixture->queue);
	do {
		event = grpc_completion_queue_next(fixture->queue,
						   gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
	} while (event.type != GRPC_QUEUE_SHUTDOWN);
	grpc_completion_queue_destroy(fixture->queue);
	server_destroy(fixture->server);
	free(fixture);
	grpc_shutdown_blocking();
	return 0;
}

static void keep_response(struct fixture *fixture, grpc_byte_buffer *buffer)
{
	grpc_byte_buffer_reader reader;
	grpc_slice slice;

	fixture->response_bytes = -1;
	if (!buffer)
		return;
	grpc_byte_buffer_reader_init(&reader, buffer);
	slice = grpc_byte_buffer_reader_readall(&reader);
	fixture->response_bytes = GRPC_SLICE_LENGTH(slice);
	assert_in_range(fixture->response_bytes, 0, TEXT_BYTES);
	memcpy(fixture->response, GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice));
	grpc_slice_unref(slice);
	grpc_byte_buffer_reader_destroy(&reader);
	grpc_byte_buffer_destroy(buffer);
}

static void run_to_the_end(struct fixture *fixture)
{
	grpc_event event;

	do {
		server_step(fixture->server, 1);
		event = grpc_completion_queue_next(fixture->queue,
						   gpr_inf_past(GPR_CLOCK_MONOTONIC), NULL);
	} while (event.type != GRPC_OP_COMPLETE);
}

/* Sends the request and waits for the answer, at most @deadline_ms. */
static void call_method(struct fixture *fixture, const char *method, bool compresses,
			unsigned int deadline_ms)
{
	gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
					     gpr_time_from_millis(deadline_ms, GPR_TIMESPAN));
	grpc_call *call = grpc_channel_create_call(fixture->channel, NULL, 0, fixture->queue,
						   grpc_slice_from_static_string(method), NULL,
						   deadline, NULL);
	grpc_metadata metadata[] = {
		{ .key = grpc_slice_from_static_string("x-key"),
		  .value = grpc_slice_from_static_string("x-value") },
		{ .key = grpc_slice_from_static_string("grpc-internal-encoding-request"),
		  .value = grpc_slice_from_static_string("gzip") },
	};
	grpc_slice slice = grpc_slice_from_static_string(request);
	grpc_byte_buffer *sent = grpc_raw_byte_buffer_create(&slice, 1);
	grpc_byte_buffer *response = NULL;
	grpc_metadata_array initial, trailing;
	grpc_slice details = grpc_empty_slice();
	grpc_op ops[6] = {
		{ .op = GRPC_OP_SEND_INITIAL_METADATA },  { .op = GRPC_OP_SEND_MESSAGE },
		{ .op = GRPC_OP_SEND_CLOSE_FROM_CLIENT }, { .op = GRPC_OP_RECV_INITIAL_METADATA },
		{ .op = GRPC_OP_RECV_MESSAGE },		  { .op = GRPC_OP_RECV_STATUS_ON_CLIENT },
	};

	grpc_metadata_array_init(&initial);
	grpc_metadata_array_init(&trailing);
	ops[0].data.send_initial_metadata.metadata = metadata;
	ops[0].data.send_initial_metadata.count = compresses ? 2 : 1;
	ops[1].data.send_message.send_message = sent;
	ops[3].data.recv_initial_metadata.recv_initial_metadata = &initial;
	ops[4].data.recv_message.recv_message = &response;
	ops[5].data.recv_status_on_client.trailing_metadata = &trailing;
	ops[5].data.recv_status_on_client.status = &fixture->status;
	ops[5].data.recv_status_on_client.status_details = &details;
	assert_int_equal(grpc_call_start_batch(call, ops, 6, &ops, NULL), GRPC_CALL_OK);
	run_to_the_end(fixture);
	keep_response(fixture, response);
	snprintf(fixture->status_text, TEXT_BYTES, "%.*s", (int)GRPC_SLICE_LENGTH(details),
		 (const char *)GRPC_SLICE_START_PTR(details));
	for (size_t i = 0; i < trailing.count; i++) {
		if (!grpc_slice_str_cmp(trailing.metadata[i].key, "grpc-status-details-bin"))
			fixture->details_bytes = GRPC_SLICE_LENGTH(trailing.metadata[i].value);
	}
	grpc_metadata_array_destroy(&initial);
	grpc_metadata_array_destroy(&trailing);
	grpc_slice_unref(details);
	grpc_byte_buffer_destroy(sent);
	grpc_call_unref(call);
}

static void answer_call(struct fixture *fixture, struct answer answer)
{
	fixture->answer = answer;
	call_method(fixture, EXPORT_METHOD, false, 60000);
}

static void a_message_is_taken_and_answered(void **state)
{
	struct fixture *fixture = *state;

	answer_call(fixture, (struct answer){ .kind = ANSWER_OK });
	assert_int_equal(fixture->status, GRPC_STATUS_OK);
	assert_int_equal(fixture->response_bytes, 0);
	assert_true(fixture->is_plain_text);
	assert_false(fixture->is_gzip);
	assert_string_equal(fixture->method, EXPORT_METHOD);
	assert_string_equal(fixture->header, "x-value");
}

static void compression_is_seen(void **state)
{
	struct fixture *fixture = *state;

	call_method(fixture, EXPORT_METHOD, true, 60000);
	assert_int_equal(fixture->status, GRPC_STATUS_OK);
	assert_true(fixture->is_gzip);
	assert_in_range(fixture->message_bytes, 18, strlen(request) - 1);
}

static void other_methods_are_unknown(void **state)
{
	struct fixture *fixture = *state;

	call_method(fixture, "/other.Service/Export", false, 60000);
	assert_int_equal(fixture->status, GRPC_STATUS_UNIMPLEMENTED);
	assert_int_equal(fixture->messages, 0);
	assert_string_equal(fixture->method, "/other.Service/Export");
}

static void a_status_goes_back_with_its_text(void **state)
{
	struct fixture *fixture = *state;

	answer_call(fixture, (struct answer){ ANSWER_STATUS, 14, 0, "try again", 1 });
	assert_int_equal(fixture->status, GRPC_STATUS_UNAVAILABLE);
	assert_string_equal(fixture->status_text, "try again");
	assert_int_equal(fixture->details_bytes, 0);
}

static void retry_info_goes_back_as_details(void **state)
{
	struct fixture *fixture = *state;

	answer_call(fixture, (struct answer){ ANSWER_RETRY_INFO, 8, NS_PER_SECOND, "", 1 });
	assert_int_equal(fixture->status, GRPC_STATUS_RESOURCE_EXHAUSTED);
	assert_in_range(fixture->details_bytes, 40, 60);
}

static void a_partial_success_goes_back(void **state)
{
	struct fixture *fixture = *state;

	answer_call(fixture, (struct answer){ ANSWER_PARTIAL, 1, 0, "bad", 1 });
	assert_int_equal(fixture->status, GRPC_STATUS_OK);
	assert_int_equal(fixture->response_bytes, 9);
	assert_memory_equal(fixture->response,
			    "\x0a\x07\x08\x01\x12\x03"
			    "bad",
			    9);
}

static void garbage_goes_back(void **state)
{
	struct fixture *fixture = *state;

	answer_call(fixture, (struct answer){ .kind = ANSWER_GARBAGE });
	assert_int_equal(fixture->status, GRPC_STATUS_OK);
	assert_in_range(fixture->response_bytes, 10, 30);
}

static void a_late_answer_comes_after_its_time(void **state)
{
	struct fixture *fixture = *state;
	uint64_t start_ns = clock_monotonic_ns();

	answer_call(fixture, (struct answer){ .kind = ANSWER_LATE, .delay_ns = 50 * NS_PER_MS });
	assert_int_equal(fixture->status, GRPC_STATUS_OK);
	assert_true(clock_monotonic_ns() - start_ns >= 50 * NS_PER_MS);
}

static void a_call_that_hangs_ends_at_the_clients_deadline(void **state)
{
	struct fixture *fixture = *state;

	fixture->answer.kind = ANSWER_HANG;
	call_method(fixture, EXPORT_METHOD, false, 1000);
	assert_int_equal(fixture->status, GRPC_STATUS_DEADLINE_EXCEEDED);
	answer_call(fixture, (struct answer){ .kind = ANSWER_OK });
	assert_int_equal(fixture->status, GRPC_STATUS_OK);
}

static void a_reset_ends_the_connection(void **state)
{
	struct fixture *fixture = *state;

	answer_call(fixture, (struct answer){ .kind = ANSWER_RESET });
	assert_int_equal(fixture->status, GRPC_STATUS_UNAVAILABLE);
	assert_int_equal(fixture->messages, 1);
}

static void an_address_that_is_taken_or_wrong_is_refused(void **state)
{
	struct server_handler handler = { 0 };
	struct server_options options = { .listen = "no.such.host.invalid:1" };
	struct server *server = NULL;
	int port;

	(void)state;
	assert_int_equal(server_create(&options, &handler, &server, &port), -EADDRINUSE);
	assert_non_null(strstr(error_text(), "no.such.host.invalid"));
	options = (struct server_options){
		.listen = "127.0.0.1:0",
		.certificate = "no certificate",
		.key = "no key",
	};
	assert_true(server_create(&options, &handler, &server, &port) < 0);
	assert_null(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_message_is_taken_and_answered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(compression_is_seen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_methods_are_unknown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_status_goes_back_with_its_text, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(retry_info_goes_back_as_details, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_partial_success_goes_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(garbage_goes_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_late_answer_comes_after_its_time, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_call_that_hangs_ends_at_the_clients_deadline,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_reset_ends_the_connection, set_up, tear_down),
		cmocka_unit_test(an_address_that_is_taken_or_wrong_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
