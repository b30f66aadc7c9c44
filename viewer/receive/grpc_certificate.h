/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A server's certificate and key in PEM files that may be renewed; new files apply to the next
 * connection.
 */
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
	/*
	 * The state of the files when they were read. Atomic because threads of the C core read it.
	 */
	atomic_uint_fast64_t files_state;
	/* The state of unusable files that have already been logged. */
	atomic_uint_fast64_t refused_state;
};

void grpc_certificate_init(struct grpc_certificate *certificate, const char *tls_cert,
			   const char *tls_key);

/**
 * Makes server credentials, which the caller owns. @certificate must outlive the server and serves
 * one at a time. -EINVAL with a text for users if a file is unusable.
 */
int grpc_certificate_credentials(struct grpc_certificate *certificate,
				 grpc_server_credentials **credentials);

#endif
