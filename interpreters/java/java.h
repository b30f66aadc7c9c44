/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Java: HotSpot, whose layout comes from tables that libjvm.so exports (vm_structs.h).
 * ebpf/java/java_step.bpf.h describes how the kernel side unwinds its frames with the data of attach.
 */
#ifndef INTERPRETERS_JAVA_JAVA_H
#define INTERPRETERS_JAVA_JAVA_H

#include "interpreters/language.h"

extern const struct language java_language;

#endif
