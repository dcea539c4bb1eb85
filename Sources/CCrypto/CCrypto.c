#include "CCrypto.h"
#include <openssl/evp.h>

_Static_assert(CCRYPTO_MAX_DIGEST_SIZE == EVP_MAX_MD_SIZE, "a digest must fit the caller's buffer");

static EVP_MD_CTX *context(ccrypto_digest *digest) { return (EVP_MD_CTX *)digest; }

ccrypto_digest *ccrypto_digest_new(const char *name) {
    const EVP_MD *kind = EVP_get_digestbyname(name);
    EVP_MD_CTX *made = kind ? EVP_MD_CTX_new() : NULL;
    if (made && EVP_DigestInit_ex(made, kind, NULL) != 1) {
        EVP_MD_CTX_free(made);
        made = NULL;
    }
    return (ccrypto_digest *)made;
}
bool ccrypto_digest_update(ccrypto_digest *digest, const void *bytes, size_t count) {
    return EVP_DigestUpdate(context(digest), bytes, count) == 1;
}
unsigned ccrypto_digest_final(ccrypto_digest *digest, unsigned char *bytes) {
    unsigned count = 0;
    return EVP_DigestFinal_ex(context(digest), bytes, &count) == 1 ? count : 0;
}
void ccrypto_digest_free(ccrypto_digest *digest) { EVP_MD_CTX_free(context(digest)); }
