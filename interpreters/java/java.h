/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Java: HotSpot, found by the tables that its libjvm.so exports (vm_structs.h). How its frames are
 * walked by what is attached stands in ebpf/java/java_step.bpf.h. Of a compiled frame the method that was
 * compiled is named; those that were inlined into it are not yet.
 */
#ifndef INTERPRETERS_JAVA_JAVA_H
#define INTERPRETERS_JAVA_JAVA_H

#include "interpreters/language.h"

extern const struct language java_language;

#endif
