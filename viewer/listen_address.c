/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/listen_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	ADDRESS_MAX_BYTES = 256,
	BACKLOG = 128,
};

static bool is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits && !text[digits] && digits <= 5 && strtoul(text, NULL, 10) <= UINT16_MAX;
}

/* Splits `host:port` or `[host]:port` in place. */
static int cut_address(const char *option, char *text, char **host, char **port)
{
	char *colon = strrchr(text, ':');
	char *bracket = strrchr(text, ']');

	if (!colon || (bracket && bracket > colon) || !is_port(colon + 1))
		return fail(-EINVAL, "%s needs an address and a port, such as 127.0.0.1:7171",
			    option);
	*colon = '\0';
	*port = colon + 1;
	*host = text;
	if (*text == '[' && bracket && bracket + 1 == colon) {
		*bracket = '\0';
		*host = text + 1;
	} else if (strchr(text, ':')) {
		return fail(-EINVAL, "%s: put an IPv6 address into brackets, such as [::1]:7171",
			    option);
	}
	return 0;
}

int listen_address_read(const char *option, const char *text, struct listen_address *address)
{
	const struct addrinfo hints = {
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	char copy[ADDRESS_MAX_BYTES], *host = copy, *port = copy;
	struct addrinfo *found;
	int err, status;

	if (strlen(text) >= sizeof(copy))
		return fail(-EINVAL, "%s: the address is too long", option);
	strcpy(copy, text);
	err = cut_address(option, copy, &host, &port);
	if (err)
		return err;
	status = getaddrinfo(*host ? host : NULL, port, &hints, &found);
	if (status)
		return fail(-EINVAL, "%s %s: %s", option, text, gai_strerror(status));
	/* The first address is enough. */
	memcpy(&address->socket, found->ai_addr, found->ai_addrlen);
	address->bytes = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

bool listen_address_is_loopback(const struct listen_address *address)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)&address->socket;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address->socket;

	if (address->socket.ss_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

void listen_address_set_port(struct listen_address *address, uint16_t port)
{
	if (address->socket.ss_family == AF_INET)
		((struct sockaddr_in *)&address->socket)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)&address->socket)->sin6_port = htons(port);
}

uint16_t listen_address_port(const struct listen_address *address)
{
	return ntohs(address->socket.ss_family == AF_INET ?
			     ((const struct sockaddr_in *)&address->socket)->sin_port :
			     ((const struct sockaddr_in6 *)&address->socket)->sin6_port);
}

void listen_address_text(const struct listen_address *address, char text[LISTEN_ADDRESS_TEXT_BYTES])
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)&address->socket;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address->socket;
	bool is_six = address->socket.ss_family == AF_INET6;
	char host[INET6_ADDRSTRLEN] = "";

	inet_ntop(address->socket.ss_family,
		  is_six ? (const void *)&six->sin6_addr : (const void *)&four->sin_addr, host,
		  sizeof(host));
	snprintf(text, LISTEN_ADDRESS_TEXT_BYTES, is_six ? "[%s]:%u" : "%s:%u", host,
		 listen_address_port(address));
}

int listen_address_open(struct listen_address *address)
{
	_cleanup_(close_fd) int fd =
		socket(address->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;

	if (fd < 0)
		return -errno;
	/* Old connections of an agent that has ended must not block the port. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&address->socket, address->bytes) ||
	    listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&address->socket, &address->bytes))
		return -errno;
	return take_fd(fd);
}

int listen_address_open_option(const char *option, const char *text, bool has_token,
			       struct listen_address *address)
{
	int err = listen_address_read(option, text, address), fd;

	if (err)
		return err;
	if (!has_token && !listen_address_is_loopback(address))
		return fail(
			-EINVAL,
			"%s %s: others than this machine could ask; name a file with a token by "
			"%s-token-file, or listen on 127.0.0.1",
			option, text, option);
	fd = listen_address_open(address);
	return fd < 0 ? fail(fd == -EADDRNOTAVAIL ? -EINVAL : fd, "cannot listen on %s for %s: %s",
			     text, option, strerror(-fd)) :
			fd;
}
