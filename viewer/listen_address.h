/* SPDX-License-Identifier: Apache-2.0 */
/**
 * An address of this machine to listen on, from an option `host:port`. Errors have a text for
 * users.
 */
#ifndef VIEWER_LISTEN_ADDRESS_H
#define VIEWER_LISTEN_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct listen_address {
	struct sockaddr_storage socket;
	socklen_t bytes;
};

/** Buffer size for listen_address_text(). */
enum { LISTEN_ADDRESS_TEXT_BYTES = 64 };

/** Reads the value of @option ("-viewer"): an IP address or a name, IPv6 in brackets. -EINVAL. */
int listen_address_read(const char *option, const char *text, struct listen_address *address);

/** True if only this machine can connect to the address. */
bool listen_address_is_loopback(const struct listen_address *address);

void listen_address_set_port(struct listen_address *address, uint16_t port);
uint16_t listen_address_port(const struct listen_address *address);

/** "127.0.0.1:7171", "[::1]:7171" */
void listen_address_text(const struct listen_address *address,
			 char text[LISTEN_ADDRESS_TEXT_BYTES]);

/**
 * Opens a listening socket and updates *@address to the bound address: a port of 0 becomes the
 * assigned port. -errno.
 */
int listen_address_open(struct listen_address *address);

/**
 * The same for @text, the value of @option ("-viewer"), and sets *@address. Without a token, which @option followed by
 * "-token-file" would give, only an address that nobody but this machine can reach is taken. -EINVAL, -EADDRINUSE, or
 * another -errno.
 */
int listen_address_open_option(const char *option, const char *text, bool has_token,
			       struct listen_address *address);

#endif
