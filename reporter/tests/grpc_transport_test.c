// SPDX-License-Identifier: Apache-2.0
/* The transport against a server of gRPC's own in this process, in plain text and over TLS. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "agent/base/log.h"
#include "reporter/grpc_transport.h"
#include "reporter/otlp_answer.h"

#include <cmocka.h>

#include "reporter/tests/grpc_server.h"

#define METHOD "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
/* No call of these tests comes near it but those that are to. */
#define TIMEOUT_NS (60 * NS_PER_SECOND)
#define PATH_BYTES 128

/* A folder of certificates, made once; "" if there is no openssl. */
static char folder[] = "/tmp/grpc_transport_XXXXXX";
static bool has_certificates;

/* Certificates by a CA: of the server, a client, for another name, and one that has expired. */
static const char make_certificates[] =
	"cd %s && exec >log 2>&1 && set -e\n"
	"new='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'\n"
	"for ca in ca other; do\n"
	"	openssl req -x509 $new -keyout $ca.key -out $ca.pem -subj /CN=$ca -days 30\n"
	"done\n"
	"leaf() {\n"
	"	openssl req $new -keyout $1.key -out $1.csr -subj /CN=$2\n"
	"	echo subjectAltName=DNS:$2 >names\n"
	"	openssl x509 -req -in $1.csr -CA $3.pem -CAkey $3.key -set_serial $4 \\\n"
	"		-extfile names -out $1.pem -days $5\n"
	"}\n"
	"leaf server localhost ca 1 30\n"
	"leaf elsewhere elsewhere.example ca 2 30\n"
	"leaf expired localhost ca 3 -1\n"
	"leaf client client ca 4 30\n"
	"leaf stranger stranger other 5 30\n"
	"printf -- '-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\\n' >broken.pem\n"
	"echo no certificate >text.pem\n";

static int make_folder(void **state)
{
	char command[sizeof(make_certificates) + PATH_BYTES];

	(void)state;
	/* Proxies and CAs of the environment are not for these tests. */
	unsetenv("http_proxy");
	unsetenv("https_proxy");
	unsetenv("grpc_proxy");
	unsetenv("SSL_CERT_FILE");
	unsetenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH");
	if (!mkdtemp(folder))
		return -1;
	snprintf(command, sizeof(command), make_certificates, folder);
	has_certificates = !system(command);
	setenv("GRPC_DNS_RESOLVER", "native", 1);
	grpc_init();
	return 0;
}

static int remove_folder(void **state)
{
	char command[PATH_BYTES];

	(void)state;
	grpc_shutdown_blocking();
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

/* The path of a file among the certificates; there are eight at a time. */
static char *file(const char *name)
{
	static char paths[8][PATH_BYTES];
	static int next;
	char *path = paths[next++ % 8];

	snprintf(path, PATH_BYTES, "%s/%s", folder, name);
	return path;
}

static char *read_file(const char *name)
{
	FILE *stream = fopen(file(name), "r");
	char *text = calloc(1, 1 << 16);

	assert_non_null(stream);
	assert_true(fread(text, 1, (1 << 16) - 1, stream) > 0);
	fclose(stream);
	return text;
}

static struct grpc_test_server *start_tls_server(const char *name, const char *client_ca)
{
	char certificate_name[PATH_BYTES], key_name[PATH_BYTES];
	grpc_ssl_pem_key_cert_pair pair;
	struct grpc_test_server *server;
	char *ca = client_ca ? read_file(client_ca) : NULL;

	snprintf(certificate_name, sizeof(certificate_name), "%s.pem", name);
	snprintf(key_name, sizeof(key_name), "%s.key", name);
	pair.cert_chain = read_file(certificate_name);
	pair.private_key = read_file(key_name);
	server = server_start(
		grpc_ssl_server_credentials_create_ex(
			ca, &pair, 1,
			ca ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY :
			     GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
			NULL),
		0);
	free((char *)pair.cert_chain);
	free((char *)pair.private_key);
	free(ca);
	return server;
}

/* A transport with its options and address. */
struct client {
	char address[64];
	struct grpc_transport_options options;
	struct transport_headers headers;
	struct grpc_transport *transport;
};

static struct client *client_create(int port, struct grpc_transport_options options)
{
	struct client *client = calloc(1, sizeof(*client));

	snprintf(client->address, sizeof(client->address), "localhost:%d", port);
	client->options = options;
	client->options.address = client->address;
	client->options.headers = &client->headers;
	client->options.user_agent = "agent/1.2";
	if (grpc_transport_create(&client->options, &client->transport))
		fail_msg("%s", error_text());
	return client;
}

static struct client *plain_client(const struct grpc_test_server *server)
{
	return client_create(server->port, (struct grpc_transport_options){ .is_plain = true });
}

static void client_destroy(struct client *client)
{
	grpc_transport_destroy(client->transport);
	transport_headers_deinit(&client->headers);
	free(client);
}

static struct transport_answer send_within(struct client *client, const void *bytes, size_t count,
					   uint64_t timeout_ns)
{
	struct transport *transport = grpc_transport_base(client->transport);
	struct transport_answer answer;

	memset(&answer, 0x5a, sizeof(answer));
	transport->ops->send(transport, bytes, count, timeout_ns, &answer);
	return answer;
}

static struct transport_answer send_one(struct client *client)
{
	return send_within(client, "request", strlen("request"), TIMEOUT_NS);
}

static void assert_answer(const struct transport_answer *answer, enum rpc_status status,
			  const char *text)
{
	if (answer->status != status || !strstr(answer->message, text))
		fail_msg("status %d, '%s'", answer->status, answer->message);
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
	assert_int_equal(answer.rejected_profiles, 3);
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
	assert_int_equal(answer.rejected_profiles, 0);
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
	assert_int_equal(answer.rejected_profiles, 3);
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

/* Calls until there is a connection again, which the calls before have asked for. */
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
	/* The first may still find the connection that is being ended. */
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
	grpc_transport_base(transport)->ops->send(grpc_transport_base(transport), "", 0,
						  20 * NS_PER_SECOND, &answer);
	grpc_transport_destroy(transport);
	/* Where no name server answers, nobody can say that there is no such name. */
	if (answer.status == RPC_DEADLINE_EXCEEDED)
		skip();
	assert_answer(&answer, RPC_UNAVAILABLE, "cannot be resolved");
}

static void a_header_whose_file_is_gone_fails_the_call_only(void **state)
{
	struct grpc_test_server *server = server_start(NULL, 0);
	struct client *client = plain_client(server);
	struct transport_answer answer;
	char value[PATH_BYTES];
	FILE *stream = fopen(file("token"), "w");

	(void)state;
	fputs("first\n", stream);
	fclose(stream);
	server->behaviour.response = "";
	snprintf(value, sizeof(value), "@%s", file("token"));
	assert_int_equal(transport_headers_add(&client->headers, "token", value), 0);
	answer = send_one(client);
	assert_answer(&answer, RPC_OK, "");
	assert_string_equal(server_metadata(server, "token"), "first");
	unlink(file("token"));
	answer = send_one(client);
	assert_answer(&answer, RPC_UNAVAILABLE, "cannot read");
	assert_int_equal(server->call_count, 1);
	client_destroy(client);
	server_stop(server);
}

/* What a client with @options is answered by @server over TLS. */
static void assert_tls(struct grpc_test_server *server, struct grpc_transport_options options,
		       enum rpc_status status, const char *text)
{
	struct client *client = client_create(server->port, options);
	uint32_t call_count = server->call_count;
	struct transport_answer answer;

	server->behaviour.response = "";
	answer = send_one(client);
	assert_int_equal(server->call_count - call_count, status == RPC_OK);
	assert_answer(&answer, status, text);
	client_destroy(client);
}

static void tls_trusts_the_ca_that_is_named_and_no_other(void **state)
{
	struct grpc_test_server *server;

	(void)state;
	if (!has_certificates)
		skip();
	server = start_tls_server("server", NULL);
	assert_tls(server, (struct grpc_transport_options){ .tls_ca = file("ca.pem") }, RPC_OK, "");
	/* The look at the certificates at the start was no call. */
	assert_int_equal(server->call_count, 1);
	assert_tls(server, (struct grpc_transport_options){ .tls_ca = file("other.pem") },
		   RPC_UNAVAILABLE, "signed by no CA that is trusted here, or has expired");
	setenv("SSL_CERT_FILE", file("ca.pem"), 1);
	assert_tls(server, (struct grpc_transport_options){ 0 }, RPC_OK, "");
	unsetenv("SSL_CERT_FILE");
	server_stop(server);
}

static void an_expired_certificate_and_one_of_another_name_are_refused(void **state)
{
	struct grpc_test_server *server;

	(void)state;
	if (!has_certificates)
		skip();
	server = start_tls_server("expired", NULL);
	assert_tls(server, (struct grpc_transport_options){ .tls_ca = file("ca.pem") },
		   RPC_UNAVAILABLE, "or has expired");
	server_stop(server);
	server = start_tls_server("elsewhere", NULL);
	assert_tls(server, (struct grpc_transport_options){ .tls_ca = file("ca.pem") },
		   RPC_UNAVAILABLE, "for another name");
	server_stop(server);
}

static void plain_text_and_tls_do_not_meet(void **state)
{
	struct grpc_test_server *server;

	(void)state;
	if (!has_certificates)
		skip();
	server = start_tls_server("server", NULL);
	assert_tls(server, (struct grpc_transport_options){ .is_plain = true }, RPC_UNAVAILABLE,
		   "may want TLS");
	server_stop(server);
	server = server_start(NULL, 0);
	assert_tls(server, (struct grpc_transport_options){ .tls_ca = file("ca.pem") },
		   RPC_UNAVAILABLE, "speaks no TLS");
	server_stop(server);
}

static void a_client_certificate_is_shown_to_who_wants_it(void **state)
{
	struct grpc_test_server *server;

	(void)state;
	if (!has_certificates)
		skip();
	server = start_tls_server("server", "ca.pem");
	assert_tls(server,
		   (struct grpc_transport_options){ .tls_ca = file("ca.pem"),
						    .tls_cert = file("client.pem"),
						    .tls_key = file("client.key") },
		   RPC_OK, "");
	assert_tls(server, (struct grpc_transport_options){ .tls_ca = file("ca.pem") },
		   RPC_UNAVAILABLE, "client certificate");
	assert_tls(server,
		   (struct grpc_transport_options){ .tls_ca = file("ca.pem"),
						    .tls_cert = file("stranger.pem"),
						    .tls_key = file("stranger.key") },
		   RPC_UNAVAILABLE, "client certificate");
	server_stop(server);
}

static void certificates_are_read_again_for_a_new_connection(void **state)
{
	struct grpc_test_server *server;
	struct client *client;
	struct transport_answer answer;
	char command[3 * PATH_BYTES];

	(void)state;
	if (!has_certificates)
		skip();
	snprintf(command, sizeof(command), "cp %s %s", file("other.pem"), file("renewed.pem"));
	assert_int_equal(system(command), 0);
	server = start_tls_server("server", NULL);
	server->behaviour.response = "";
	client = client_create(server->port,
			       (struct grpc_transport_options){ .tls_ca = file("renewed.pem") });
	answer = send_one(client);
	assert_answer(&answer, RPC_UNAVAILABLE, "signed by no CA");
	snprintf(command, sizeof(command), "cp %s %s", file("ca.pem"), file("renewed.pem"));
	assert_int_equal(system(command), 0);
	answer = send_one(client);
	assert_answer(&answer, RPC_OK, "");
	client_destroy(client);
	server_stop(server);
}

static void assert_not_created(struct grpc_transport_options options, const char *text)
{
	const struct transport_headers headers = { 0 };
	struct grpc_transport *transport;

	options.address = "localhost:1";
	options.headers = &headers;
	options.user_agent = "agent/1.2";
	assert_int_equal(grpc_transport_create(&options, &transport), -EINVAL);
	if (!strstr(error_text(), text))
		fail_msg("'%s' does not tell '%s'", error_text(), text);
}

static void files_that_are_no_certificates_are_found_at_the_start(void **state)
{
	(void)state;
	if (!has_certificates)
		skip();
	assert_not_created((struct grpc_transport_options){ .tls_ca = "/no/such/file" },
			   "cannot read the CA certificates /no/such/file: No such file");
	assert_not_created((struct grpc_transport_options){ .tls_ca = "/dev/zero" },
			   "no file of PEM text");
	assert_not_created((struct grpc_transport_options){ .tls_ca = file("text.pem") },
			   "holds no PEM text");
	assert_not_created((struct grpc_transport_options){ .tls_ca = file("broken.pem") },
			   "cannot be used");
	assert_not_created((struct grpc_transport_options){ .tls_ca = file("ca.pem"),
							    .tls_cert = file("client.pem"),
							    .tls_key = file("server.key") },
			   "cannot be used");
	assert_not_created((struct grpc_transport_options){ .tls_ca = file("ca.pem"),
							    .tls_cert = file("client.pem"),
							    .tls_key = "/no/such/key" },
			   "cannot read the client key /no/such/key");
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
		cmocka_unit_test(tls_trusts_the_ca_that_is_named_and_no_other),
		cmocka_unit_test(an_expired_certificate_and_one_of_another_name_are_refused),
		cmocka_unit_test(plain_text_and_tls_do_not_meet),
		cmocka_unit_test(a_client_certificate_is_shown_to_who_wants_it),
		cmocka_unit_test(certificates_are_read_again_for_a_new_connection),
		cmocka_unit_test(files_that_are_no_certificates_are_found_at_the_start),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
