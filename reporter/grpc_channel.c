// SPDX-License-Identifier: Apache-2.0
#include "reporter/grpc_channel.h"

#include <errno.h>
#include <grpc/grpc_security.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "reporter/grpc_pem.h"
#include "reporter/otlp_answer.h"

enum {
	/*
	 * Servers close connections that are pinged more often than every 5 minutes. The timeout
	 * also limits how long sent bytes may stay unacknowledged (TCP_USER_TIMEOUT).
	 */
	KEEPALIVE_MS = 5 * 60 * 1000,
	KEEPALIVE_TIMEOUT_MS = 20 * 1000,
	/* The channel retries a failed connection by itself, and at each of our calls. */
	RECONNECT_MAX_MS = 30 * 1000,
};

/* Paths of the CA bundles: Debian, Fedora, SUSE, older Red Hat, Alpine, gRPC's own. */
static const char *const system_ca_paths[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/cert.pem",
	"/usr/share/grpc/roots.pem",
};

static const char *find_system_cas(void)
{
	static const char *const variables[] = { "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
						 "SSL_CERT_FILE" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *path = getenv(variables[i]);

		if (path && *path)
			return path;
	}
	for (size_t i = 0; i < sizeof(system_ca_paths) / sizeof(system_ca_paths[0]); i++) {
		if (access(system_ca_paths[i], R_OK) == 0)
			return system_ca_paths[i];
	}
	return NULL;
}

uint64_t grpc_channel_files_state(const struct grpc_transport_options *options)
{
	const char *const paths[] = {
		options->tls_ca ? options->tls_ca : find_system_cas(),
		options->tls_cert,
		options->tls_key,
	};

	return options->is_plain ? 0 :
				   grpc_pem_files_state(paths, sizeof(paths) / sizeof(paths[0]));
}

static int make_tls_credentials(const struct grpc_transport_options *options,
				grpc_channel_credentials **credentials)
{
	const char *ca_path = options->tls_ca ? options->tls_ca : find_system_cas();
	_cleanup_(free_pointer) char *cas = NULL;
	_cleanup_(free_pointer) char *certificate = NULL;
	_cleanup_(free_pointer) char *key = NULL;
	grpc_ssl_pem_key_cert_pair pair;
	int error;

	if (!ca_path)
		return fail(-EINVAL,
			    "this system has no file of CA certificates that is known here; "
			    "install ca-certificates, or give -tls-ca FILE");
	error = grpc_pem_read(ca_path, "CA certificates", &cas);
	if (!error && options->tls_cert)
		error = grpc_pem_read(options->tls_cert, "client certificate", &certificate);
	if (!error && options->tls_key)
		error = grpc_pem_read(options->tls_key, "client key", &key);
	if (error)
		return error;
	pair = (grpc_ssl_pem_key_cert_pair){ .private_key = key, .cert_chain = certificate };
	*credentials = grpc_ssl_credentials_create(cas, certificate ? &pair : NULL, NULL, NULL);
	return *credentials ? 0 : fail(-EINVAL, "the certificates cannot be used");
}

static grpc_arg number_argument(const char *key, int value)
{
	return (grpc_arg){ .type = GRPC_ARG_INTEGER, .key = (char *)key, .value.integer = value };
}

static grpc_arg text_argument(const char *key, const char *value)
{
	return (grpc_arg){ .type = GRPC_ARG_STRING,
			   .key = (char *)key,
			   .value.string = (char *)value };
}

int grpc_open_channel(const struct grpc_transport_options *options, const char *target,
		      grpc_channel **channel)
{
	grpc_arg arguments[] = {
		text_argument(GRPC_ARG_PRIMARY_USER_AGENT_STRING, options->user_agent),
		number_argument(GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM,
				options->no_compression ? GRPC_COMPRESS_NONE : GRPC_COMPRESS_GZIP),
		/*
		 * We decompress answers ourselves, because the C core does so without a limit. It
		 * must not let the collector ask for large windows either.
		 */
		number_argument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
		number_argument(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, OTLP_ANSWER_MAX_BYTES),
		number_argument(GRPC_ARG_HTTP2_BDP_PROBE, 0),
		number_argument(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, RECONNECT_MAX_MS),
		number_argument(GRPC_ARG_KEEPALIVE_TIME_MS, KEEPALIVE_MS),
		number_argument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, KEEPALIVE_TIMEOUT_MS),
		/*
		 * The sender retries, not the C core, and the collector's DNS cannot configure the
		 * channel.
		 */
		number_argument(GRPC_ARG_ENABLE_RETRIES, 0),
		number_argument(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1),
		number_argument(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
		number_argument(GRPC_ARG_ENABLE_CHANNELZ, 0),
		number_argument(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0),
	};
	const grpc_channel_args channel_arguments = {
		.num_args = sizeof(arguments) / sizeof(arguments[0]),
		.args = arguments,
	};
	grpc_channel_credentials *credentials = NULL;
	int error = 0;

	if (options->is_plain)
		credentials = grpc_insecure_credentials_create();
	else
		error = make_tls_credentials(options, &credentials);
	if (error)
		return error;
	*channel = grpc_channel_create(target, credentials, &channel_arguments);
	grpc_channel_credentials_release(credentials);
	return 0;
}
