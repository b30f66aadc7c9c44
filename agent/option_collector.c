// SPDX-License-Identifier: Apache-2.0
#include "agent/option_collector.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/option_values.h"
#include "lib/base/cleanup.h"

enum {
	/* Registered for OTLP over gRPC. */
	DEFAULT_PORT = 4317,
	HOST_MAX_BYTES = 253,
};

static bool is_host_name(const char *host)
{
	size_t length = strlen(host);

	if (!length || length > HOST_MAX_BYTES)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char)host[i]) && !strchr(".-_", host[i]))
			return false;
	}
	return true;
}

static bool is_ipv6_address(const char *host)
{
	struct in6_addr address;

	return inet_pton(AF_INET6, host, &address) == 1;
}

int collector_parse_address(const char *text, char **address)
{
	bool is_bracketed = text[0] == '[';
	_cleanup_(free_pointer) char *host = strdup(is_bracketed ? text + 1 : text);
	uint64_t port = DEFAULT_PORT;
	char *end;

	if (!host)
		return -ENOMEM;
	end = strchr(host, is_bracketed ? ']' : ':');
	if (is_bracketed && !end)
		return -EINVAL;
	if (end) {
		const char *rest = is_bracketed ? end + 1 : end;

		if (*rest && (*rest != ':' || option_parse_number(rest + 1, &port) || port < 1 ||
			      port > UINT16_MAX))
			return -EINVAL;
		*end = '\0';
	}
	if (is_bracketed ? !is_ipv6_address(host) : !is_host_name(host))
		return -EINVAL;
	if (asprintf(address, is_bracketed ? "[%s]:%u" : "%s:%u", host, (unsigned int)port) < 0)
		return -ENOMEM;
	return 0;
}

int option_set_collector(struct options *options, const struct setting *setting)
{
	char *address;
	int error = collector_parse_address(setting->text, &address);

	if (error == -ENOMEM)
		return option_out_of_memory();
	if (error && strstr(setting->text, "://"))
		return option_refuse(setting, "give HOST or HOST:PORT, without http:// and path");
	if (error)
		return option_refuse(setting, "give HOST or HOST:PORT; an IPv6 address in "
					      "brackets, as [::1]:4317");
	free(options->collector.address);
	options->collector.address = address;
	return 0;
}

int option_set_disable_tls(struct options *options, const struct setting *setting)
{
	options->collector.has_disable_tls = true;
	return option_read_flag(setting, &options->collector.disable_tls);
}

int option_set_header(struct options *options, const struct setting *setting)
{
	_cleanup_(free_pointer) char *key = strdup(setting->text);
	char *value = key ? strchr(key, '=') : NULL;
	int error;

	if (!key)
		return option_out_of_memory();
	/* Errors do not quote the value, which may be a secret. */
	if (!value)
		return fail(-EINVAL, "%sKEY: give a header as KEY=VALUE or KEY=@FILE",
			    setting->source);
	*value++ = '\0';
	error = transport_headers_add(&options->collector.headers, key, value);
	if (error == -EINVAL)
		return fail(-EINVAL, "%s%.*s: %s", setting->source, SHOWN_VALUE_BYTES, key,
			    error_text());
	return error;
}

int option_set_grouping(struct options *options, const struct setting *setting)
{
	static const struct {
		const char *name;
		enum resource_grouping grouping;
	} groupings[] = {
		{ "process", GROUP_BY_PROCESS },
		{ "container", GROUP_BY_CONTAINER },
		{ "service", GROUP_BY_SERVICE },
	};

	for (size_t i = 0; i < sizeof(groupings) / sizeof(groupings[0]); i++) {
		if (strcmp(setting->text, groupings[i].name) == 0) {
			options->collector.grouping = groupings[i].grouping;
			return 0;
		}
	}
	return option_refuse(setting, "give process, container or service");
}

int option_set_symbolize(struct options *options, const struct setting *setting)
{
	static const char *const names[] = {
		[SYMBOLIZE_NONE] = "none",
		[SYMBOLIZE_SYMTAB] = "symtab",
		[SYMBOLIZE_FULL] = "full",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(setting->text, names[i]) == 0) {
			options->collector.symbolize = i;
			return 0;
		}
	}
	return option_refuse(setting, "give none, symtab or full");
}

int collector_options_check(const struct collector_options *collector)
{
	if (!collector->tls_cert != !collector->tls_key)
		return fail(-EINVAL, "-tls-cert and -tls-key: give both, or none");
	if (collector->disable_tls && (collector->tls_ca || collector->tls_cert))
		return fail(-EINVAL, "-disable-tls: leave it (or http://) out, or -tls-ca, "
				     "-tls-cert and -tls-key");
	if (!collector->address && (collector->disable_tls || collector->tls_ca ||
				    collector->tls_cert || collector->headers.count))
		return fail(-EINVAL, "-header, -disable-tls, -tls-ca, -tls-cert and -tls-key are "
				     "for a collector; give -collection-agent");
	return 0;
}

void collector_options_deinit(struct collector_options *collector)
{
	free(collector->address);
	free(collector->tls_ca);
	free(collector->tls_cert);
	free(collector->tls_key);
	transport_headers_deinit(&collector->headers);
}
