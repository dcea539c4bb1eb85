/* Digests from libcrypto.  Own declarations: <openssl/evp.h> would import forty headers full of macros into Swift. */
#ifndef CCRYPTO_H
#define CCRYPTO_H
#include <stdbool.h>
#include <stddef.h>
#pragma clang assume_nonnull begin

/* A digest in progress; an EVP_MD_CTX.  One thread at a time. */
typedef struct ccrypto_digest ccrypto_digest;

/* The longest digest in bytes: EVP_MAX_MD_SIZE. */
enum { CCRYPTO_MAX_DIGEST_SIZE = 64 };

/* Starts a digest by libcrypto's name ("SHA256"); NULL when libcrypto lacks or forbids it, or memory is short. */
ccrypto_digest *_Nullable ccrypto_digest_new(const char *name);
/* EVP_DigestUpdate(3) */
bool ccrypto_digest_update(ccrypto_digest *digest, const void *_Nullable bytes, size_t count);
/* EVP_DigestFinal_ex(3): writes at most CCRYPTO_MAX_DIGEST_SIZE bytes, returns how many, 0 on failure. */
unsigned ccrypto_digest_final(ccrypto_digest *digest, unsigned char *bytes);
void ccrypto_digest_free(ccrypto_digest *digest);

#pragma clang assume_nonnull end
#endif
