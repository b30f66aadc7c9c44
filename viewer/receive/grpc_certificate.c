/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/receive/grpc_certificate.h"

#include <errno.h>
#include <stdbool.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "reporter/grpc_pem.h"

static uint64_t files_state(const struct grpc_certificate *certificate)
{
	const char *const paths[] = { certificate->tls_cert, certificate->tls_key };

	return grpc_pem_files_state(paths, sizeof(paths) / sizeof(paths[0]));
}

static int read_certificate(const struct grpc_certificate *certificate,
			    grpc_ssl_server_certificate_config **config)
{
	_cleanup_(free_pointer) char *chain = NULL;
	_cleanup_(free_pointer) char *key = NULL;
	grpc_ssl_pem_key_cert_pair pair;
	int err = grpc_pem_read(certificate->tls_cert, "server certificate", &chain);

	if (!err)
		err = grpc_pem_read(certificate->tls_key, "server key", &key);
	if (err)
		return err;
	pair = (grpc_ssl_pem_key_cert_pair){ .private_key = key, .cert_chain = chain };
	/*
	 * gRPC requires CA certificates for clients, although clients are not asked for
	 * certificates.
	 */
	*config = grpc_ssl_server_certificate_config_create(chain, &pair, 1);
	return *config ? 0 : fail(-ENOMEM, "no memory for the server's certificate");
}

/* True if it has not been logged yet that the files in @state are unusable. */
static bool note_refused(struct grpc_certificate *certificate, uint64_t state)
{
	return atomic_exchange(&certificate->refused_state, state) != state;
}

/*
 * Called for each new connection. Unusable files leave the old certificate in use, and are retried.
 */
static grpc_ssl_certificate_config_reload_status
reload_certificate(void *context, grpc_ssl_server_certificate_config **config)
{
	struct grpc_certificate *certificate = context;
	uint64_t state = files_state(certificate);

	if (state == certificate->files_state)
		return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
	if (read_certificate(certificate, config)) {
		if (note_refused(certificate, state))
			log_warn("%s; the previous certificate stays in use", error_text());
		return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_FAIL;
	}
	certificate->files_state = state;
	return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

int grpc_certificate_credentials(struct grpc_certificate *certificate,
				 grpc_server_credentials **credentials)
{
	grpc_ssl_server_certificate_config *config = NULL;
	grpc_ssl_server_credentials_options *options;
	int err;

	if (!certificate->tls_cert) {
		*credentials = grpc_insecure_server_credentials_create();
		return 0;
	}
	/* For an error text: the C core would only say that it cannot listen. */
	err = read_certificate(certificate, &config);
	if (err)
		return err;
	grpc_ssl_server_certificate_config_destroy(config);
	options = grpc_ssl_server_credentials_create_options_using_config_fetcher(
		GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE, reload_certificate, certificate);
	/* New credentials must read the files again. */
	certificate->files_state = 0;
	*credentials = grpc_ssl_server_credentials_create_with_options(options);
	return *credentials ? 0 : fail(-EINVAL, "the server's certificate cannot be used");
}

void grpc_certificate_init(struct grpc_certificate *certificate, const char *tls_cert,
			   const char *tls_key)
{
	*certificate = (struct grpc_certificate){ .tls_cert = tls_cert, .tls_key = tls_key };
}
