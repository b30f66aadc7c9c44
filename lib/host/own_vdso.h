/* SPDX-License-Identifier: Apache-2.0 */
/** The vDSO of this process. */
#ifndef LIB_HOST_OWN_VDSO_H
#define LIB_HOST_OWN_VDSO_H

#include <stddef.h>

/** The vDSO's ELF image, whole pages, valid as long as this process runs. -ENOENT if the kernel provides none. */
int own_vdso_find(const void **image, size_t *size);

#endif
