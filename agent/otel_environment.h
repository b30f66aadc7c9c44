/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The variables by which OpenTelemetry's own programs are told of their collector
 * (opentelemetry.io/docs/specs/otel/protocol/exporter): OTEL_EXPORTER_OTLP_PROFILES_NAME, else
 * OTEL_EXPORTER_OTLP_NAME, with ENDPOINT, HEADERS, TIMEOUT, COMPRESSION, CERTIFICATE,
 * CLIENT_CERTIFICATE, CLIENT_KEY, INSECURE and PROTOCOL.
 */
#ifndef AGENT_OTEL_ENVIRONMENT_H
#define AGENT_OTEL_ENVIRONMENT_H

#include "agent/options.h"

/**
 * Sets what is not set in @collector yet; nothing but defaults if there is no collector after that.
 * -EINVAL with a text for users that names the variable, -ENOMEM.
 */
int otel_environment_apply(struct collector_options *collector);

#endif
