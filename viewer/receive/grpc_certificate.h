/* SPDX-License-Identifier: Apache-2.0 */
/** A server's certificate and its key, in PEM files that may be renewed: what is new is for the next connection. */
#ifndef VIEWER_RECEIVE_GRPC_CERTIFICATE_H
#define VIEWER_RECEIVE_GRPC_CERTIFICATE_H

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <pthread.h>
#include <stdint.h>

struct grpc_certificate {
	/* Borrowed; NULL, both: plain text. */
	const char *tls_cert;
	const char *tls_key;
	/* For the C core's threads. */
	pthread_mutex_t lock;
	/* Of the files, when they were read. */
	uint64_t files_state;
	/* Of those that could not be used, and that was said. */
	uint64_t refused_state;
};

void grpc_certificate_init(struct grpc_certificate *certificate, const char *tls_cert,
			   const char *tls_key);
void grpc_certificate_deinit(struct grpc_certificate *certificate);

/**
 * Credentials for a server, the caller's; @certificate lives as long as it, and is for one server at a time. -EINVAL
 * with a text for users for files that do not do.
 */
int grpc_certificate_credentials(struct grpc_certificate *certificate,
				 grpc_server_credentials **credentials);

#endif
