// SPDX-License-Identifier: Apache-2.0
#include "agent/otel_environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/option_collector.h"
#include "agent/option_values.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/text.h"

enum {
	VARIABLE_BYTES = 64,
	TIMEOUT_MAX_MS = 600 * 1000,
};

#define DEFAULT_TIMEOUT_NS (10 * NS_PER_SECOND)

struct variable {
	char name[VARIABLE_BYTES];
	const char *value;
};

/* Finds a variable with a value; the more specific name takes precedence. */
static bool find(const char *name, struct variable *variable)
{
	static const char *const prefixes[] = { "OTEL_EXPORTER_OTLP_PROFILES_",
						"OTEL_EXPORTER_OTLP_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		snprintf(variable->name, sizeof(variable->name), "%s%s", prefixes[i], name);
		variable->value = getenv(variable->name);
		if (variable->value && *variable->value)
			return true;
	}
	return false;
}

static int refuse(const struct variable *variable, const char *what_to_do)
{
	return fail(-EINVAL, "%s=%.*s: %s", variable->name, SHOWN_VALUE_BYTES, variable->value,
		    what_to_do);
}

static int out_of_memory(void)
{
	return fail(-ENOMEM, "out of memory while the environment is read");
}

static bool is_for_another_protocol(void)
{
	struct variable variable;

	return find("PROTOCOL", &variable) && strcmp(variable.value, "grpc") != 0;
}

/* http://host:port means plain text, https://host:port TLS; for host:port alone INSECURE decides. */
static int read_endpoint(struct collector_options *collector)
{
	static const struct {
		const char *text;
		bool is_plain;
	} schemes[] = { { "http://", true }, { "https://", false } };
	struct variable variable;
	_cleanup_(free_pointer) char *address = NULL;
	char *end;
	int error;

	if (!find("ENDPOINT", &variable))
		return 0;
	address = strdup(variable.value);
	if (!address)
		return out_of_memory();
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t length = strlen(schemes[i].text);

		if (strncasecmp(address, schemes[i].text, length) != 0)
			continue;
		memmove(address, address + length, strlen(address + length) + 1);
		if (!collector->has_disable_tls)
			collector->disable_tls = schemes[i].is_plain;
		collector->has_disable_tls = true;
		break;
	}
	end = address + strlen(address);
	if (end > address && end[-1] == '/')
		end[-1] = '\0';
	error = collector_parse_address(address, &collector->address);
	if (error == -ENOMEM)
		return out_of_memory();
	if (error)
		return refuse(&variable, "give http://HOST:PORT (plain text) or https://HOST:PORT");
	return 0;
}

/* If certificates are given, TLS is used. */
static int read_insecure(struct collector_options *collector)
{
	struct variable variable;

	if (collector->has_disable_tls || collector->tls_ca || collector->tls_cert ||
	    !find("INSECURE", &variable))
		return 0;
	if (strcasecmp(variable.value, "true") && strcasecmp(variable.value, "false"))
		return refuse(&variable, "give true or false");
	collector->disable_tls = !strcasecmp(variable.value, "true");
	return 0;
}

static int read_path(const char *name, char **path)
{
	struct variable variable;

	if (*path || !find(name, &variable))
		return 0;
	*path = strdup(variable.value);
	return *path ? 0 : out_of_memory();
}

/* Trims @text within its own memory. */
static char *trim(char *text)
{
	const char *start = text, *end = text + strlen(text);

	text_trim(&start, &end);
	text[end - text] = '\0';
	return text + (start - text);
}

static int add_header(struct transport_headers *headers, char *pair)
{
	char *value = strchr(pair, '=');
	const char *start, *end;
	size_t length;

	if (!value)
		return fail(-EINVAL, "give KEY=VALUE,KEY=VALUE");
	*value++ = '\0';
	start = value;
	end = value + strlen(value);
	text_trim(&start, &end);
	if (!text_decode_percents(start, end, value, end - start, &length))
		return fail(-EINVAL, "a %% is not followed by two hexadecimal digits");
	value[length] = '\0';
	/* Only -header supports values from files. */
	if (*value == '@')
		return fail(-EINVAL, "a value begins with @");
	return transport_headers_add(headers, trim(pair), value);
}

static int read_headers(struct collector_options *collector)
{
	_cleanup_(free_pointer) char *text = NULL;
	struct variable variable;
	char *rest, *pair;

	if (collector->headers.count || !find("HEADERS", &variable))
		return 0;
	rest = text = strdup(variable.value);
	if (!text)
		return out_of_memory();
	while ((pair = strsep(&rest, ","))) {
		int error = *trim(pair) ? add_header(&collector->headers, pair) : 0;

		/* Errors do not quote values, which may be secrets. */
		if (error == -EINVAL)
			return fail(-EINVAL, "%s: %s", variable.name, error_text());
		if (error)
			return error;
	}
	return 0;
}

static int read_timeout(struct collector_options *collector)
{
	struct variable variable;
	uint64_t timeout_ms;

	collector->timeout_ns = DEFAULT_TIMEOUT_NS;
	if (!find("TIMEOUT", &variable))
		return 0;
	if (option_parse_number(variable.value, &timeout_ms) || timeout_ms < 1 ||
	    timeout_ms > TIMEOUT_MAX_MS)
		return refuse(&variable, "give milliseconds, 1 to 600000");
	collector->timeout_ns = timeout_ms * NS_PER_MS;
	return 0;
}

static int read_compression(struct collector_options *collector)
{
	struct variable variable;

	if (!find("COMPRESSION", &variable) || !strcmp(variable.value, "gzip"))
		return 0;
	if (strcmp(variable.value, "none") != 0)
		return refuse(&variable, "give gzip or none");
	collector->no_compression = true;
	return 0;
}

/* Reads the settings that are only for the collector in the environment. */
static int read_collector(struct collector_options *collector)
{
	int error = read_endpoint(collector);

	if (error || !collector->address)
		return error;
	error = read_insecure(collector);
	if (!error)
		error = read_headers(collector);
	if (error || collector->disable_tls)
		return error;
	error = read_path("CERTIFICATE", &collector->tls_ca);
	/* A key is for its own certificate. */
	if (error || collector->tls_cert || collector->tls_key)
		return error;
	error = read_path("CLIENT_CERTIFICATE", &collector->tls_cert);
	return error ? error : read_path("CLIENT_KEY", &collector->tls_key);
}

int otel_environment_apply(struct collector_options *collector)
{
	struct variable variable;
	int error;

	/* Pods often have these variables for their programs, which send by HTTP. */
	if (!collector->address && find("ENDPOINT", &variable) && is_for_another_protocol()) {
		collector->has_unused_endpoint = true;
		return 0;
	}
	error = collector->address ? 0 : read_collector(collector);
	if (error || !collector->address)
		return error;
	error = read_timeout(collector);
	return error ? error : read_compression(collector);
}
