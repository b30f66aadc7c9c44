/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/packages.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "reporter/stack_text.h"

/* A part of a text. */
struct part {
	const char *start;
	size_t length;
};

static const struct part no_part = { 0 };

void append_binary_name(struct text_builder *text, const struct packaged_function *function)
{
	const char *slash = strrchr(function->binary, '/');

	if (*function->binary)
		text_builder_append(text, slash && slash[1] ? slash + 1 : function->binary);
	else
		text_builder_format(text, "[%s]", text_kind_name(function->kind));
}

/* "net/http.(*conn).serve": up to the first dot behind the last slash; a type parameter may have slashes too. */
static struct part go_package(const char *name)
{
	size_t length = strcspn(name, "[("), start = 0;
	const char *dot;

	for (size_t i = 0; i < length; i++)
		if (name[i] == '/')
			start = i + 1;
	dot = memchr(name + start, '.', strlen(name + start));
	return dot ? (struct part){ name, (size_t)(dot - name) } : no_part;
}

/* "java.util.HashMap.get(Object)": without the class and the method. */
static struct part java_package(const char *name)
{
	size_t length = strcspn(name, "(<");
	size_t dots = 0;

	while (length > 0) {
		if (name[--length] == '.' && ++dots == 2)
			return (struct part){ name, length };
	}
	return no_part;
}

static bool is_of_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* "void std::sort<int>(...)" and "<alloc::vec::Vec<T> as Drop>::drop": the identifier before the first "::". */
static struct part outermost_namespace(const char *name)
{
	const char *colons = strstr(name, "::"), *start = colons;

	if (!colons)
		return no_part;
	while (start > name && is_of_identifier(start[-1]))
		start--;
	/* Text in brackets is a parameter, unless the name begins with it. */
	for (const char *c = name; c < start; c++)
		if (strchr("(<[", *c) && c != name)
			return no_part;
	return (struct part){ start, (size_t)(colons - start) };
}

/* The length of the first @count components of @path. */
static size_t components(const char *path, int count)
{
	size_t length = 0;

	while (count-- > 0) {
		length += strcspn(path + length, "/");
		if (!path[length])
			return length;
		length += count > 0;
	}
	return length;
}

/* Folders that have a folder, or a file, for each package. */
static const struct {
	const char *folder;
	int components;
} package_folders[] = {
	{ "/site-packages/", 1 }, { "/dist-packages/", 1 }, { "/node_modules/", 1 },
	{ "/gems/", 1 },	  { "/vendor/", 2 },
};

static struct part package_of_path(const char *path)
{
	const char *found = NULL, *slash;
	int count = 0;

	for (size_t i = 0; i < sizeof(package_folders) / sizeof(package_folders[0]); i++) {
		const char *folder = package_folders[i].folder;

		for (const char *at = strstr(path, folder); at; at = strstr(at + 1, folder)) {
			if (found && at + strlen(folder) <= found)
				continue;
			found = at + strlen(folder);
			count = package_folders[i].components;
		}
	}
	if (found && *found)
		return (struct part){ found, components(found, *found == '@' ? 2 : count) };
	slash = strrchr(path, '/');
	if (!slash)
		return (struct part){ path, strlen(path) };
	return (struct part){ path, slash > path ? (size_t)(slash - path) : 1 };
}

static struct part package_of(const struct packaged_function *function)
{
	switch (function->kind) {
	case TEXT_GO:
		return go_package(function->name);
	case TEXT_JAVA:
		return java_package(function->name);
	case TEXT_NATIVE:
		return outermost_namespace(function->name);
	case TEXT_KERNEL:
	case TEXT_JIT:
		return no_part;
	default:
		return package_of_path(function->file);
	}
}

void append_package(struct text_builder *text, const struct packaged_function *function)
{
	struct part part = package_of(function);

	if (part.length)
		text_builder_append_bytes(text, part.start, part.length);
	else
		append_binary_name(text, function);
}
