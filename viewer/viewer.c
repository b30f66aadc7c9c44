/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/viewer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "viewer/http_server.h"

enum {
	ADDRESS_MAX_BYTES = 256,
	BACKLOG = 128,
};

struct viewer {
	struct viewer_options options;
	struct history *history;
	struct api *api;
	struct access_token token;
	int fd;
	uint16_t port;
	char url[INET6_ADDRSTRLEN + 32];
	struct http_server *server;
};

/* An address to listen on; what getaddrinfo() gives, of which one is enough. */
struct place {
	struct sockaddr_storage address;
	socklen_t bytes;
};

/* --- the address --- */

static bool is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits && !text[digits] && digits <= 5 && strtoul(text, NULL, 10) <= UINT16_MAX;
}

/* Cuts `host:port` or `[host]:port` in two, in place. */
static int cut_address(char *text, char **host, char **port)
{
	char *colon = strrchr(text, ':');
	char *bracket = strrchr(text, ']');

	if (!colon || (bracket && bracket > colon) || !is_port(colon + 1))
		return fail(-EINVAL, "-viewer needs an address and a port, such as 127.0.0.1:7171");
	*colon = '\0';
	*port = colon + 1;
	*host = text;
	if (*text == '[' && bracket && bracket + 1 == colon) {
		*bracket = '\0';
		*host = text + 1;
	} else if (strchr(text, ':')) {
		return fail(-EINVAL,
			    "-viewer: put an IPv6 address into brackets, such as [::1]:7171");
	}
	return 0;
}

static int find_place(const char *address, struct place *place)
{
	const struct addrinfo hints = {
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	char text[ADDRESS_MAX_BYTES], *host = text, *port = text;
	struct addrinfo *found;
	int err, status;

	if (strlen(address) >= sizeof(text))
		return fail(-EINVAL, "-viewer: the address is too long");
	strcpy(text, address);
	err = cut_address(text, &host, &port);
	if (err)
		return err;
	status = getaddrinfo(*host ? host : NULL, port, &hints, &found);
	if (status)
		return fail(-EINVAL, "-viewer %s: %s", address, gai_strerror(status));
	memcpy(&place->address, found->ai_addr, found->ai_addrlen);
	place->bytes = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static bool is_loopback(const struct place *place)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)&place->address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&place->address;

	if (place->address.ss_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static void set_port(struct place *place, uint16_t port)
{
	if (place->address.ss_family == AF_INET)
		((struct sockaddr_in *)&place->address)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)&place->address)->sin6_port = htons(port);
}

/* A socket that listens there; -errno. */
static int listen_at(const struct place *place)
{
	_cleanup_(close_fd) int fd =
		socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;

	if (fd < 0)
		return -errno;
	/* What is left of an agent that has ended does not hold the port. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&place->address, place->bytes) || listen(fd, BACKLOG))
		return -errno;
	return take_fd(fd);
}

/* The address as it is bound: a port of 0 has become another. */
static int name_place(struct viewer *viewer)
{
	struct place place = { .bytes = sizeof(place.address) };
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&place.address;
	const struct sockaddr_in *four = (const struct sockaddr_in *)&place.address;
	bool is_six;
	char text[INET6_ADDRSTRLEN];

	if (getsockname(viewer->fd, (struct sockaddr *)&place.address, &place.bytes))
		return fail_errno(-errno, "-viewer");
	is_six = place.address.ss_family == AF_INET6;
	viewer->port = ntohs(is_six ? six->sin6_port : four->sin_port);
	inet_ntop(place.address.ss_family,
		  is_six ? (const void *)&six->sin6_addr : (const void *)&four->sin_addr, text,
		  sizeof(text));
	snprintf(viewer->url, sizeof(viewer->url), is_six ? "http://[%s]:%u" : "http://%s:%u", text,
		 viewer->port);
	return 0;
}

static int listen_where_asked(struct viewer *viewer)
{
	const char *address = viewer->options.address;
	char fallback[32];
	struct place place = { 0 };
	int err;

	snprintf(fallback, sizeof(fallback), "127.0.0.1:%d", VIEWER_DEFAULT_PORT);
	err = find_place(address ? address : fallback, &place);
	if (err)
		return err;
	if (!is_loopback(&place) && !viewer->options.token_file)
		return fail(-EINVAL,
			    "-viewer %s: others than this machine could ask; name a file with a "
			    "token by -viewer-token-file, or listen on 127.0.0.1",
			    address);
	viewer->fd = listen_at(&place);
	if (viewer->fd == -EADDRINUSE && !address) {
		set_port(&place, 0);
		viewer->fd = listen_at(&place);
	}
	if (viewer->fd < 0)
		return fail(viewer->fd == -EADDRNOTAVAIL ? -EINVAL : viewer->fd,
			    "cannot listen on %s for the viewer: %s", address ? address : fallback,
			    strerror(-viewer->fd));
	return name_place(viewer);
}

/* --- the door --- */

static int init(struct viewer *viewer)
{
	int err = 0;

	if (viewer->options.token_file)
		err = access_token_read(viewer->options.token_file, &viewer->token);
	if (!err)
		err = listen_where_asked(viewer);
	if (err)
		return err;
	viewer->history = history_create(&viewer->options.history);
	return viewer->history ? 0 : fail(-ENOMEM, "no memory for the viewer");
}

int viewer_create(const struct viewer_options *options, struct viewer **viewer)
{
	struct viewer *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return fail(-ENOMEM, "no memory for the viewer");
	made->options = *options;
	made->fd = -1;
	err = init(made);
	if (err) {
		viewer_destroy(made);
		return err;
	}
	*viewer = made;
	return 0;
}

void viewer_destroy(struct viewer *viewer)
{
	if (!viewer)
		return;
	viewer_stop(viewer);
	api_destroy(viewer->api);
	history_destroy(viewer->history);
	close_fd(&viewer->fd);
	free(viewer);
}

const char *viewer_url(const struct viewer *viewer)
{
	return viewer->url;
}

struct history *viewer_history(struct viewer *viewer)
{
	return viewer->history;
}

int viewer_start(struct viewer *viewer)
{
	const struct history_options *history = &viewer->options.history;
	struct api_config config = viewer->options.api;
	struct http_server_options server = {
		.fd = viewer->fd,
		.port = viewer->port,
		.token = viewer->options.token_file ? &viewer->token : NULL,
		.host_name = config.host,
	};
	int err;

	config.history = viewer->history;
	config.token_needed = server.token;
	config.retention_ns = history->retention_ns == HISTORY_WITHOUT_END ? 0 :
									     history->retention_ns;
	if (!config.epoch_realtime_ns) {
		config.epoch_realtime_ns = clock_realtime_ns();
		config.epoch_monotonic_ns = clock_monotonic_ns();
	}
	err = api_create(&config, &viewer->api);
	if (err)
		return fail(err, "no memory for the viewer");
	server.api = viewer->api;
	err = http_server_start(&server, &viewer->server);
	if (!err)
		/* It closes it. */
		viewer->fd = -1;
	return err;
}

void viewer_stop(struct viewer *viewer)
{
	http_server_stop(viewer->server);
	viewer->server = NULL;
}
