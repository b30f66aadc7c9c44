/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Who may ask: a page of another site, whose name leads to this machine or not, may not (DNS rebinding, cross-site
 * requests). Pure functions of a request's headers, which come from anybody.
 */
#ifndef VIEWER_HTTP_GUARD_H
#define VIEWER_HTTP_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct guarded_request {
	/** Headers; NULL where there are none. */
	const char *host;
	const char *origin;
	const char *fetch_site;
	/** X-Allframes: what pages of other sites cannot send. */
	const char *mark;
	bool is_post;
	/** Of the page itself, which may be linked to from elsewhere. */
	bool is_page;
};

enum guard_verdict {
	GUARD_ALLOWED,
	GUARD_FOREIGN_HOST,
	GUARD_FOREIGN_ORIGIN,
};

/**
 * @port is the one that is listened on; @host_name the machine's own name, which is a host as well; NULL: it is not.
 */
enum guard_verdict http_guard_judge(const struct guarded_request *request, uint16_t port,
				    const char *host_name);

#endif
