/* SPDX-License-Identifier: Apache-2.0 */
/** The kernel's code in every process ([vdso]), as it is in this one. */
#ifndef LIB_HOST_OWN_VDSO_H
#define LIB_HOST_OWN_VDSO_H

#include <stddef.h>

/** Its ELF image, whole pages, for as long as this process runs. -ENOENT: this kernel gives none. */
int own_vdso_find(const void **image, size_t *size);

#endif
