/* SPDX-License-Identifier: Apache-2.0 */
/** The page's files, inside the program: viewer/assets/, as `make page` builds them. */
#ifndef VIEWER_ASSETS_H
#define VIEWER_ASSETS_H

#include <stddef.h>

struct asset {
	/** "/app.js" */
	const char *path;
	const char *content_type;
	const char *bytes;
	size_t count;
};

/** That of a path of a URL, "/" being the page; NULL if there is none. */
const struct asset *asset_find(const char *path);

#endif
