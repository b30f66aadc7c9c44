/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Decides which requests are allowed. A page of another site is not, even if its name resolves to
 * this machine (DNS rebinding, cross-site requests). Pure functions of a request's headers, which
 * are untrusted.
 */
#ifndef VIEWER_HTTP_GUARD_H
#define VIEWER_HTTP_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct guarded_request {
	/** Header values; NULL if missing. */
	const char *host;
	const char *origin;
	const char *fetch_site;
	/** X-Allframes, which pages of other sites cannot send. */
	const char *mark;
	bool is_post;
	/** A request for the page itself, to which other sites may link. */
	bool is_page;
};

enum guard_verdict {
	GUARD_ALLOWED,
	GUARD_FOREIGN_HOST,
	GUARD_FOREIGN_ORIGIN,
};

/**
 * @port is the port that the server listens on. @host_name is the machine's own name, which is
 * allowed as a host; NULL: it is not.
 */
enum guard_verdict http_guard_judge(const struct guarded_request *request, uint16_t port,
				    const char *host_name);

#endif
