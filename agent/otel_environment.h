/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The variables by which OpenTelemetry's own programs find their collector
 * (opentelemetry.io/docs/specs/otel/protocol/exporter): OTEL_EXPORTER_OTLP_PROFILES_NAME, else
 * OTEL_EXPORTER_OTLP_NAME, with ENDPOINT, HEADERS, TIMEOUT, COMPRESSION, CERTIFICATE, CLIENT_CERTIFICATE,
 * CLIENT_KEY, INSECURE and PROTOCOL.
 */
#ifndef AGENT_OTEL_ENVIRONMENT_H
#define AGENT_OTEL_ENVIRONMENT_H

#include "agent/options.h"

/**
 * Sets fields of @collector that are not set yet. ENDPOINT is used if there is no address yet and PROTOCOL is
 * grpc or missing; with it HEADERS, INSECURE and the certificates, which are for that collector only. TIMEOUT
 * and COMPRESSION are for any collector, and are ignored if there is none. -EINVAL with a text for users that
 * names the variable, -ENOMEM.
 */
int otel_environment_apply(struct collector_options *collector);

#endif
