/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the receiver with the agent's own transport, and with misbehaving gRPC clients. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "reporter/otlp_answer.h"
#include "viewer/receive/grpc_receiver.h"

#include <cmocka.h>

#include "reporter/tests/grpc_client.h"

#define METHOD "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define ADDRESS "127.0.0.1:0"

enum { REQUEST_MAX_BYTES = 1 << 20 };

/* The received data; written by the receiver's thread before it answers. */
struct taken {
	uint32_t admitted;
	uint32_t count;
	char method[256];
	size_t bytes;
	uint8_t first;
	uint8_t last;
	/* The answer. */
	enum rpc_status status;
	const char *warning;
};

static void admit(void *context, const char *method, const char *authorization,
		  struct grpc_call_answer *answer)
{
	struct taken *taken = context;

	taken->admitted++;
	snprintf(taken->method, sizeof(taken->method), "%s", method);
	if (authorization && !strcmp(authorization, "Bearer right"))
		return;
	answer->status = RPC_UNAUTHENTICATED;
	snprintf(answer->text, sizeof(answer->text), "no token");
}

static void take(void *context, const char *method, const void *bytes, size_t count,
		 struct grpc_call_answer *answer)
{
	struct taken *taken = context;

	(void)method;
	taken->count++;
	taken->bytes = count;
	taken->first = count ? *(const uint8_t *)bytes : 0;
	taken->last = count ? ((const uint8_t *)bytes)[count - 1] : 0;
	answer->status = taken->status;
	snprintf(answer->text, sizeof(answer->text), taken->status ? "not now" : "");
	if (taken->warning)
		answer->response_bytes = otlp_answer_write_response(
			2, taken->warning, answer->response, sizeof(answer->response));
}

static const struct grpc_receiver_ops ops = { .admit = admit, .take = take };

static struct grpc_receiver *start(struct taken *taken)
{
	const struct grpc_receiver_options options = {
		.address = ADDRESS,
		.max_request_bytes = REQUEST_MAX_BYTES,
		.ops = &ops,
		.context = taken,
	};
	struct grpc_receiver *receiver;

	if (grpc_receiver_create(&options, &receiver) || grpc_receiver_start(receiver))
		fail_msg("%s", error_text());
	return receiver;
}

static struct client *make_client(const struct grpc_receiver *receiver, const char *authorization,
				  bool no_compression)
{
	struct client *client =
		client_create(grpc_receiver_port(receiver),
			      (struct grpc_transport_options){ .is_plain = true,
							       .no_compression = no_compression });

	if (authorization)
		transport_headers_add(&client->headers, "authorization", authorization);
	return client;
}

static int set_up(void **state)
{
	(void)state;
	clear_grpc_environment();
	return 0;
}

static void a_request_arrives_as_it_is(void **state)
{
	static uint8_t bytes[REQUEST_MAX_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i >> 7 | 1);
	for (int no_compression = 0; no_compression < 2; no_compression++) {
		struct taken taken = { 0 };
		struct grpc_receiver *receiver = start(&taken);
		struct client *client = make_client(receiver, "Bearer right", no_compression);
		struct transport_answer answer =
			send_within(client, bytes, sizeof(bytes), TIMEOUT_NS);

		assert_answer(&answer, RPC_OK, "");
		assert_string_equal(taken.method, METHOD);
		assert_int_equal(taken.bytes, sizeof(bytes));
		assert_int_equal(taken.first, bytes[0]);
		assert_int_equal(taken.last, bytes[sizeof(bytes) - 1]);
		for (int i = 0; i < 50; i++)
			answer = send_one(client);
		assert_answer(&answer, RPC_OK, "");
		assert_int_equal(taken.bytes, strlen("request"));
		assert_int_equal(taken.count, 51);
		client_destroy(client);
		grpc_receiver_destroy(receiver);
	}
}

static void who_has_no_token_is_not_heard(void **state)
{
	static const char *const wrong[] = { NULL, "Bearer wrong", "" };
	struct taken taken = { 0 };
	struct grpc_receiver *receiver = start(&taken);

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct client *client = make_client(receiver, wrong[i], false);
		struct transport_answer answer = send_one(client);

		assert_answer(&answer, RPC_UNAUTHENTICATED, "no token");
		client_destroy(client);
	}
	assert_int_equal(taken.admitted, 3);
	assert_int_equal(taken.count, 0);
	grpc_receiver_destroy(receiver);
}

static void refusals_come_back_with_their_text(void **state)
{
	struct taken taken = { .status = RPC_INVALID_ARGUMENT };
	struct grpc_receiver *receiver = start(&taken);
	struct client *client = make_client(receiver, "Bearer right", false);
	struct transport_answer answer = send_one(client);

	(void)state;
	assert_answer(&answer, RPC_INVALID_ARGUMENT, "not now");
	client_destroy(client);
	grpc_receiver_destroy(receiver);
}

static void a_warning_comes_back_with_success(void **state)
{
	struct taken taken = { .warning = "two are left out" };
	struct grpc_receiver *receiver = start(&taken);
	struct client *client = make_client(receiver, "Bearer right", false);
	struct transport_answer answer = send_one(client);

	(void)state;
	assert_answer(&answer, RPC_OK, "two are left out");
	assert_int_equal(answer.rejected_count, 2);
	client_destroy(client);
	grpc_receiver_destroy(receiver);
}

/* The connection stays open during the stop. */
static void it_stops_at_once_and_takes_no_more(void **state)
{
	struct taken taken = { 0 };
	struct grpc_receiver *receiver = start(&taken);
	struct client *client = make_client(receiver, "Bearer right", false);
	struct transport_answer answer = send_one(client);

	(void)state;
	assert_answer(&answer, RPC_OK, "");
	grpc_receiver_begin_stop(receiver);
	grpc_receiver_begin_stop(receiver);
	answer = send_one(client);
	assert_int_equal(answer.status, RPC_UNAVAILABLE);
	grpc_receiver_destroy(receiver);
	assert_int_equal(taken.count, 1);
	client_destroy(client);
}

static int connect_to(const struct grpc_receiver *receiver)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(grpc_receiver_port(receiver)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * Opens connections until there are @count or descriptors run out, and closes them after the server
 * has ended them.
 */
static void flood(const struct grpc_receiver *receiver, size_t count)
{
	const struct timespec while_it_accepts = { .tv_nsec = 200000 };
	int *fds = malloc(count * sizeof(*fds));
	struct pollfd polled = { .events = POLLIN };
	size_t opened = 0;
	char byte;

	while (opened < count && (fds[opened] = connect_to(receiver)) >= 0) {
		opened++;
		nanosleep(&while_it_accepts, NULL);
	}
	assert_true(opened > 10);
	polled.fd = fds[0];
	/* The C core greets each connection first; only its end counts. */
	do
		assert_int_equal(poll(&polled, 1, 60000), 1);
	while (read(fds[0], &byte, 1) > 0);
	for (size_t i = 0; i < opened; i++)
		close(fds[i]);
	free(fds);
}

static void a_flood_of_connections_passes(void **state)
{
	struct taken taken = { 0 };
	struct grpc_receiver *receiver = start(&taken);
	struct client *client = make_client(receiver, "Bearer right", false);
	struct transport_answer answer = send_one(client);
	struct rlimit limit, small;
	int fd = dup(STDERR_FILENO);

	(void)state;
	assert_answer(&answer, RPC_OK, "");
	close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	small = (struct rlimit){ .rlim_cur = (rlim_t)fd + 60, .rlim_max = limit.rlim_max };
	for (int i = 0; i < 2; i++) {
		/* First the descriptors run out; then there are too many connections. */
		if (!i)
			setrlimit(RLIMIT_NOFILE, &small);
		flood(receiver, i ? 2200 : 100);
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){ limit.rlim_max, limit.rlim_max });
		for (int tries = 0; tries < 20; tries++) {
			answer = send_one(client);
			if (answer.status == RPC_OK)
				break;
			usleep(200000);
		}
		assert_answer(&answer, RPC_OK, "");
	}
	client_destroy(client);
	grpc_receiver_destroy(receiver);
}

static void what_is_too_large_is_refused(void **state)
{
	/* 64 KiB when compressed. */
	size_t count = 64 << 20;
	uint8_t *bytes = calloc(1, count);
	struct taken taken = { 0 };
	struct grpc_receiver *receiver = start(&taken);
	struct client *packing = make_client(receiver, "Bearer right", false);
	struct client *plain = make_client(receiver, "Bearer right", true);
	struct transport_answer answer = send_within(packing, bytes, count, TIMEOUT_NS);

	(void)state;
	assert_answer(&answer, RPC_INVALID_ARGUMENT, "the message has more than 1 MiB");
	answer = send_within(plain, bytes, REQUEST_MAX_BYTES + 1, TIMEOUT_NS);
	assert_int_equal(answer.status, RPC_RESOURCE_EXHAUSTED);
	assert_int_equal(taken.count, 0);
	answer = send_one(plain);
	assert_answer(&answer, RPC_OK, "");
	client_destroy(packing);
	client_destroy(plain);
	grpc_receiver_destroy(receiver);
	free(bytes);
}

static void a_taken_address_is_an_error(void **state)
{
	struct taken taken = { 0 };
	struct grpc_receiver *receiver = start(&taken), *second;
	char address[32];
	const struct grpc_receiver_options options = {
		.address = address,
		.max_request_bytes = REQUEST_MAX_BYTES,
		.ops = &ops,
	};

	(void)state;
	snprintf(address, sizeof(address), "127.0.0.1:%d", grpc_receiver_port(receiver));
	assert_int_equal(grpc_receiver_create(&options, &second), -EINVAL);
	assert_non_null(strstr(error_text(), "it is taken"));
	grpc_receiver_destroy(receiver);
}

static void it_ends_without_having_begun(void **state)
{
	const struct grpc_receiver_options options = {
		.address = ADDRESS,
		.max_request_bytes = REQUEST_MAX_BYTES,
		.ops = &ops,
	};
	struct grpc_receiver *receiver;

	(void)state;
	assert_int_equal(grpc_receiver_create(&options, &receiver), 0);
	grpc_receiver_destroy(receiver);
}

static void files_without_certificates_are_errors(void **state)
{
	const struct grpc_receiver_options options = {
		.address = ADDRESS,
		.tls_cert = "/proc/self/status",
		.tls_key = "/nowhere",
		.max_request_bytes = REQUEST_MAX_BYTES,
		.ops = &ops,
	};
	struct grpc_receiver *receiver;

	(void)state;
	assert_int_equal(grpc_receiver_create(&options, &receiver), -EINVAL);
	assert_non_null(strstr(error_text(), "/proc/self/status"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_arrives_as_it_is),
		cmocka_unit_test(who_has_no_token_is_not_heard),
		cmocka_unit_test(refusals_come_back_with_their_text),
		cmocka_unit_test(a_warning_comes_back_with_success),
		cmocka_unit_test(it_stops_at_once_and_takes_no_more),
		cmocka_unit_test(a_flood_of_connections_passes),
		cmocka_unit_test(what_is_too_large_is_refused),
		cmocka_unit_test(a_taken_address_is_an_error),
		cmocka_unit_test(it_ends_without_having_begun),
		cmocka_unit_test(files_without_certificates_are_errors),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
