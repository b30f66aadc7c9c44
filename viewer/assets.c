/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/assets.h"

#include <string.h>

#define EMBED(name, file)                                                                          \
	__asm__(".pushsection .rodata\n"                                                           \
		"asset_" #name ": .incbin \"viewer/assets/" file "\"\n"                            \
		"asset_" #name "_end: .byte 0\n"                                                   \
		".popsection\n");                                                                  \
	extern const char asset_##name[], asset_##name##_end[]

EMBED(index, "index.html");
EMBED(script, "app.js");
EMBED(style, "app.css");
EMBED(icon, "favicon.svg");
EMBED(licenses, "LICENSES.txt");

#define ASSET(path, content_type, name)                                                            \
	{                                                                                          \
		path, content_type, asset_##name, 0                                                \
	}

const struct asset *asset_find(const char *path)
{
	static struct asset assets[] = {
		ASSET("/", "text/html; charset=utf-8", index),
		ASSET("/app.js", "text/javascript; charset=utf-8", script),
		ASSET("/app.css", "text/css; charset=utf-8", style),
		ASSET("/favicon.svg", "image/svg+xml", icon),
		ASSET("/LICENSES.txt", "text/plain; charset=utf-8", licenses),
	};
	static const char *const ends[] = {
		asset_index_end, asset_script_end,   asset_style_end,
		asset_icon_end,	 asset_licenses_end,
	};

	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++) {
		if (strcmp(assets[i].path, path))
			continue;
		assets[i].count = (size_t)(ends[i] - assets[i].bytes);
		return &assets[i];
	}
	return NULL;
}
