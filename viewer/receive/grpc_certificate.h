/* SPDX-License-Identifier: Apache-2.0 */
/** A server's certificate and its key, in PEM files that may be renewed: what is new is for the next connection. */
#ifndef VIEWER_RECEIVE_GRPC_CERTIFICATE_H
#define VIEWER_RECEIVE_GRPC_CERTIFICATE_H

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <stdatomic.h>
#include <stdint.h>

struct grpc_certificate {
	/* Borrowed; NULL, both: plain text. */
	const char *tls_cert;
	const char *tls_key;
	/* The state of the files when they were read. It is atomic, since threads of the C core ask for it. */
	atomic_uint_fast64_t files_state;
	/* The state of files that could not be used, once that was said. */
	atomic_uint_fast64_t refused_state;
};

void grpc_certificate_init(struct grpc_certificate *certificate, const char *tls_cert,
			   const char *tls_key);

/**
 * Credentials for a server, the caller's; @certificate lives as long as it, and is for one server at a time. -EINVAL
 * with a text for users for files that do not do.
 */
int grpc_certificate_credentials(struct grpc_certificate *certificate,
				 grpc_server_credentials **credentials);

#endif
