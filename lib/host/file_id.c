/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The algorithm is process.executable.build_id.htlhash of OpenTelemetry's profiles specification ("Mappings"),
 * and for kernels the hash of the build id in hex, as other agents that implement the specification send it.
 */
#include "lib/host/file_id.h"

#include <endian.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/error.h"
#include "lib/base/read_exactly.h"

enum {
	HASHED_BYTES = 4096,
	SHA256_BYTES = 32,
};

/* @head and @tail have min(size, HASHED_BYTES) bytes and may overlap. */
static int hash_parts(const void *head, const void *tail, uint64_t size, struct file_id *file_id)
{
	size_t part_bytes = size < HASHED_BYTES ? size : HASHED_BYTES;
	uint64_t size_be = htobe64(size);
	uint8_t digest[SHA256_BYTES];
	EVP_MD_CTX *context;
	bool is_done;

	context = EVP_MD_CTX_new();
	if (!context)
		return fail(-ENOMEM, "no memory to hash a file");
	is_done = EVP_DigestInit_ex(context, EVP_sha256(), NULL) &&
		  EVP_DigestUpdate(context, head, part_bytes) &&
		  EVP_DigestUpdate(context, tail, part_bytes) &&
		  EVP_DigestUpdate(context, &size_be, sizeof(size_be)) &&
		  EVP_DigestFinal_ex(context, digest, NULL);
	EVP_MD_CTX_free(context);
	if (!is_done)
		return fail(-EIO, "OpenSSL cannot compute SHA-256");
	memcpy(file_id->bytes, digest, sizeof(file_id->bytes));
	return 0;
}

int file_id_of_file(int fd, struct file_id *file_id)
{
	uint8_t head[HASHED_BYTES], tail[HASHED_BYTES];
	struct stat status;
	size_t part_bytes;
	int err;

	if (fstat(fd, &status))
		return fail_errno(-errno, "cannot stat a file for its id");
	if (!S_ISREG(status.st_mode))
		return fail(-EOPNOTSUPP, "not a regular file");
	part_bytes = status.st_size < HASHED_BYTES ? status.st_size : HASHED_BYTES;
	err = read_exactly(fd, 0, head, part_bytes);
	if (err)
		return err;
	err = read_exactly(fd, status.st_size - part_bytes, tail, part_bytes);
	if (err)
		return err;
	return hash_parts(head, tail, status.st_size, file_id);
}

int file_id_of_memory(const void *bytes, size_t size, struct file_id *file_id)
{
	size_t part_bytes = size < HASHED_BYTES ? size : HASHED_BYTES;

	return hash_parts(bytes, (const uint8_t *)bytes + (size - part_bytes), size, file_id);
}

void file_id_of_build_id(const uint8_t *build_id, size_t build_id_bytes, struct file_id *file_id)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned __int128 prime = (unsigned __int128)1 << 88 | 0x13b;
	unsigned __int128 hash = (unsigned __int128)0x6c62272e07bb0142 << 64 | 0x62b821756295c58d;

	for (size_t i = 0; i < 2 * build_id_bytes; i++) {
		hash ^= (uint8_t)digits[build_id[i / 2] >> (i % 2 ? 0 : 4) & 15];
		hash *= prime;
	}
	for (size_t i = 0; i < sizeof(file_id->bytes); i++)
		file_id->bytes[i] = hash >> (120 - 8 * i);
}
