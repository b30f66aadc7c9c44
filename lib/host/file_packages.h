/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The packages of a distribution to which files belong, and the distribution. They are read from the files of dpkg and apk; no
 * program is run. A root may be a container's, so the files are hostile: they are bounded, and opened only where that cannot hang.
 */
#ifndef LIB_HOST_FILE_PACKAGES_H
#define LIB_HOST_FILE_PACKAGES_H

#include <stddef.h>

#include "lib/host/judged_path.h"

enum {
	/** Bytes of a name with its NUL. Longer names are not taken. */
	PACKAGE_NAME_MAX_BYTES = 128,
};

enum package_format {
	PACKAGE_UNKNOWN,
	/** Debian, Ubuntu and others. */
	PACKAGE_DPKG,
	/** Alpine. */
	PACKAGE_APK,
};

struct file_package {
	enum package_format format;
	/** "" if the file is in no package. */
	char name[PACKAGE_NAME_MAX_BYTES];
};

/**
 * Fills @packages, one for each of @count @paths, which are absolute, from the database below @root. -ENOENT: there is no database
 * that can be read; -E2BIG, -ENOMEM. On errors some may be filled.
 */
int file_packages_find(const struct judged_root *root, const char *const *paths, size_t count,
		       struct file_package *packages);

/**
 * The address of the distribution's debuginfod server, by the ids in its os-release file, else of the distributions that it
 * resembles; NULL if none is known.
 */
const char *distribution_debuginfod(const struct judged_root *root);

#endif
