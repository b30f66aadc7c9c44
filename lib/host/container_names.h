/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Ids of containers by their names, from the files of the engines themselves: Docker (containers/ID/config.v2.json), Podman
 * and CRI-O (containers.json of their storage), nerdctl (names/NAMESPACE/NAME), and Kubernetes
 * (/var/log/containers/POD_NAMESPACE_CONTAINER-ID.log, by the name of the pod or of the container). Formats as of Docker
 * 28, containers/storage 1.58, nerdctl 2 and Kubernetes 1.34. Files are read up to a limit, and only strings in them are
 * compared.
 */
#ifndef LIB_HOST_CONTAINER_NAMES_H
#define LIB_HOST_CONTAINER_NAMES_H

#include "lib/host/control_group.h"

/**
 * Finds the id of the container @name. @root: "" or a test's folder. -ENOENT; -EEXIST if several containers have the name,
 * as in a pod with two.
 */
int container_names_find(const char *root, const char *name, char id[CONTAINER_ID_MAX_BYTES]);

#endif
