/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/runtimes/unsupported_runtime.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Runtimes by the beginning of the file's name. It is followed by a version or the end of the name. */
static const struct {
	const char *beginning;
	const char *name;
	const char *option;
} runtimes[] = {
	{ "node", "Node.js", "node --perf-basic-prof" },
	{ "nodejs", "Node.js", "node --perf-basic-prof" },
	{ "libnode", "Node.js", "node --perf-basic-prof" },
	{ "deno", "Deno", NULL },
	{ "bun", "Bun", NULL },
	{ "ruby", "Ruby", "ruby --yjit --yjit-perf" },
	{ "libruby", "Ruby", "ruby --yjit --yjit-perf" },
	{ "php", "PHP", NULL },
	{ "php-fpm", "PHP", NULL },
	{ "libphp", "PHP", NULL },
	{ "dotnet", ".NET", "DOTNET_PerfMapEnabled=1" },
	{ "libcoreclr", ".NET", "DOTNET_PerfMapEnabled=1" },
	{ "perl", "Perl", NULL },
	{ "libperl", "Perl", NULL },
	{ "lua", "Lua", NULL },
	{ "luajit", "LuaJIT", NULL },
	{ "libluajit", "LuaJIT", NULL },
	{ "beam.smp", "Erlang", "erl +JPperf true" },
	{ "libjulia", "Julia", "ENABLE_JITPROFILING=1" },
	{ "libR", "R", NULL },
};

enum { RUNTIME_COUNT = sizeof(runtimes) / sizeof(runtimes[0]) };

const char *unsupported_runtime_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path;

	for (size_t i = 0; i < RUNTIME_COUNT; i++) {
		size_t length = strlen(runtimes[i].beginning);
		const char *behind = file + length;

		if (strncmp(file, runtimes[i].beginning, length))
			continue;
		/* Other names with this beginning, such as "perl-helper" or "node_exporter", do not match. */
		if (!*behind || isdigit((unsigned char)*behind) || *behind == '.' ||
		    (*behind == '-' && isdigit((unsigned char)behind[1])))
			return runtimes[i].name;
	}
	return NULL;
}

const char *unsupported_runtime_option(const char *name)
{
	for (size_t i = 0; i < RUNTIME_COUNT; i++)
		if (!strcmp(runtimes[i].name, name))
			return runtimes[i].option;
	return NULL;
}
