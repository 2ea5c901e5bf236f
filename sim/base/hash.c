/* The 128-bit hash of Fowler, Noll and Vo (1a): see hash.h. */
#include "sim/base/hash.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

__extension__ typedef unsigned __int128 wide;

void hash_init(struct hash *hash)
{
    *hash = (struct hash){0x6c62272e07bb0142, 0x62b821756295c58d};
}

static void hash_bytes(struct hash *hash, const unsigned char *bytes, size_t size)
{
    const wide prime = (wide)1 << 88 | 0x13b;
    wide value = (wide)hash->high << 64 | hash->low;
    for (size_t i = 0; i < size; i++)
        value = (value ^ bytes[i]) * prime;
    *hash = (struct hash){(uint64_t)(value >> 64), (uint64_t)value};
}

void hash_add(struct hash *hash, const void *bytes, size_t size)
{
    uint64_t length = size;
    hash_bytes(hash, (const unsigned char *)&length, sizeof length);
    hash_bytes(hash, bytes, size);
}

void hash_add_text(struct hash *hash, const char *text)
{
    hash_add(hash, text, strlen(text));
}

int hash_add_file(struct hash *hash, const char *path)
{
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC), result = -1;
    if (descriptor < 0 || fstat(descriptor, &status))
        goto done;
    if (status.st_size == 0) {
        hash_add(hash, "", 0);
        result = 0;
        goto done;
    }
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED)
        goto done;
    hash_add(hash, bytes, (size_t)status.st_size);
    munmap(bytes, (size_t)status.st_size);
    result = 0;
done:
    if (descriptor >= 0)
        close(descriptor);
    return result;
}

void hash_text(const struct hash *hash, char out[HASH_TEXT])
{
    snprintf(out, HASH_TEXT, "%016llx%016llx", (unsigned long long)hash->high,
             (unsigned long long)hash->low);
}
