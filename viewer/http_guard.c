/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/http_guard.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
	HOST_MAX_BYTES = 256,
	HTTP_PORT = 80,
};

static bool is_ip_literal(const char *host)
{
	struct in6_addr address;

	return inet_pton(AF_INET, host, &address) == 1;
}

/* True for an IPv6 address in brackets. */
static bool is_ip6_literal(const char *host)
{
	size_t length = strlen(host);
	struct in6_addr address;
	char text[INET6_ADDRSTRLEN];

	if (length < 2 || host[0] != '[' || host[length - 1] != ']' || length - 2 >= sizeof(text))
		return false;
	memcpy(text, host + 1, length - 2);
	text[length - 2] = '\0';
	return inet_pton(AF_INET6, text, &address) == 1;
}

/* Cuts the port off the end of @host; true if it is @port. A host without a port means HTTP's. */
static bool cut_port(char *host, uint16_t port)
{
	char *colon = strrchr(host, ':');
	char wanted[8];

	if (!colon || strchr(colon, ']'))
		return port == HTTP_PORT;
	snprintf(wanted, sizeof(wanted), "%u", port);
	*colon = '\0';
	return !strcmp(colon + 1, wanted);
}

static bool is_ours(const char *header, uint16_t port, const char *host_name)
{
	char host[HOST_MAX_BYTES];

	if (!header || strlen(header) >= sizeof(host))
		return false;
	strcpy(host, header);
	if (!cut_port(host, port))
		return false;
	return !strcasecmp(host, "localhost") || is_ip_literal(host) || is_ip6_literal(host) ||
	       (host_name && *host_name && !strcasecmp(host, host_name));
}

static bool is_same_origin(const char *origin, const char *host)
{
	static const char scheme[] = "http://";

	return !strncmp(origin, scheme, sizeof(scheme) - 1) &&
	       !strcasecmp(origin + sizeof(scheme) - 1, host);
}

enum guard_verdict http_guard_judge(const struct guarded_request *request, uint16_t port,
				    const char *host_name)
{
	const char *site = request->fetch_site;

	if (!is_ours(request->host, port, host_name))
		return GUARD_FOREIGN_HOST;
	if (request->origin && !is_same_origin(request->origin, request->host))
		return GUARD_FOREIGN_ORIGIN;
	if (site && strcmp(site, "same-origin") && strcmp(site, "none") && !request->is_page)
		return GUARD_FOREIGN_ORIGIN;
	if (request->is_post && (!request->mark || strcmp(request->mark, "1")))
		return GUARD_FOREIGN_ORIGIN;
	return GUARD_ALLOWED;
}
