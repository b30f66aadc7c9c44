// SPDX-License-Identifier: Apache-2.0
/* TLS: which servers the transport trusts, and its messages about the others. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "reporter/grpc_channel.h"

#include <cmocka.h>

#include "reporter/tests/grpc_client.h"

enum { PATH_BYTES = 128 };

/* A directory of certificates, made once; "" if there is no openssl. */
static char folder[] = "/tmp/grpc_channel_XXXXXX";
static bool has_certificates;

/* Certificates signed by a CA: for the server, a client, another name, and an expired one. */
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
	clear_grpc_environment();
	if (!mkdtemp(folder))
		return -1;
	snprintf(command, sizeof(command), make_certificates, folder);
	has_certificates = !system(command);
	return 0;
}

static int remove_folder(void **state)
{
	char command[PATH_BYTES];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

/* The path of a certificate file; up to eight paths are valid at a time. */
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

/* Asserts the answer of @server to a client with @options over TLS. */
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
	/* The check of the certificates at the start did not count as a call. */
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
		cmocka_unit_test(tls_trusts_the_ca_that_is_named_and_no_other),
		cmocka_unit_test(an_expired_certificate_and_one_of_another_name_are_refused),
		cmocka_unit_test(plain_text_and_tls_do_not_meet),
		cmocka_unit_test(a_client_certificate_is_shown_to_who_wants_it),
		cmocka_unit_test(certificates_are_read_again_for_a_new_connection),
		cmocka_unit_test(files_that_are_no_certificates_are_found_at_the_start),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
