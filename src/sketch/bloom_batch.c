#include "sketch/bloom.h"

#include "sketch/bloom_int.h"

#define GROUP 64 /* hashes that are asked about at once */

/* Probe by probe for the whole group, so that its words are on their way together, and only for
 * those hashes that every probe before has met: a hash that is not there costs no more words than
 * alone, about two. No branch depends on a bit. */
static void has_group(const struct sk_bloom *b, const uint64_t *hashes, uint8_t n, bool *ret_has)
{
    uint64_t at[GROUP];
    uint8_t open[GROUP]; /* those still met by every probe */
    unsigned opens = n;
    for (uint8_t i = 0; i < n; i++)
        open[i] = i;
    for (uint32_t probe = 0; probe < b->shape.hashes && opens; probe++) {
        for (unsigned i = 0; i < opens; i++) {
            at[i] = sk_bloom_position(b, hashes[open[i]], probe);
            __builtin_prefetch(&b->words[at[i] / SK_BLOOM_WORD_BITS], 0);
        }
        unsigned met = 0;
        for (unsigned i = 0; i < opens; i++) {
            bool set = b->words[at[i] / SK_BLOOM_WORD_BITS] >> at[i] % SK_BLOOM_WORD_BITS & 1;
            uint8_t which = open[i];
            ret_has[which] = set;
            open[met] = which;
            met += set;
        }
        opens = met;
    }
}

void sk_bloom_has_batch(const struct sk_bloom *b, const uint64_t *hashes, size_t n, bool *ret_has)
{
    for (size_t done = 0; done < n;) {
        size_t group = n - done < GROUP ? n - done : GROUP;
        has_group(b, hashes + done, (uint8_t) group, ret_has + done);
        done += group;
    }
}
