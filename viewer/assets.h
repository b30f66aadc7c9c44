/* SPDX-License-Identifier: Apache-2.0 */
/** The page's files, compiled into the program: viewer/assets/, which `make page` builds. */
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

/** The asset for a URL's path ("/" is the page); NULL if there is none. */
const struct asset *asset_find(const char *path);

#endif
