#include "sketch/hash.h"

#include <string.h>

/* The library's own code, compiled in: a key is short, so that calls cost as much as its bytes. */
#define XXH_INLINE_ALL
#include <xxhash.h>

struct sk_hash sk_hash(const struct sk_secret *secret, const void *key, size_t n)
{
    XXH128_hash_t h = XXH3_128bits_withSecret(key, n, secret->bytes, sizeof secret->bytes);
    return (struct sk_hash){.hi = h.high64, .lo = h.low64};
}

uint64_t sk_hash_local(const struct sk_secret *secret, const void *key, size_t n)
{
    return XXH3_64bits_withSecret(key, n, secret->bytes, sizeof secret->bytes);
}

struct sk_stamp sk_stamp(const struct sk_secret *secret)
{
    static const char text[] = "reckond hash key fingerprint 1";
    struct sk_stamp stamp = {.hash_id = SK_HASH_ID_XXH3_128_SECRET};
    XXH128_canonical_t canonical;
    _Static_assert(sizeof canonical == SK_FINGERPRINT_BYTES, "a fingerprint is one hash");

    XXH128_canonicalFromHash(
        &canonical,
        XXH3_128bits_withSecret(text, sizeof text - 1, secret->bytes, sizeof secret->bytes));
    memcpy(stamp.fingerprint, &canonical, sizeof canonical);
    return stamp;
}
