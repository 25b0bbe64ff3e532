// Digests, codes, random bytes and signatures of OpenSSL 3, in ints and opaque pointers.
//
// Every function that can fail returns 1 for success, and 0 or NULL for failure. A failure leaves no error in the queue of OpenSSL.
#ifndef COPENSSL_CRYPTOGRAPHY_H
#define COPENSSL_CRYPTOGRAPHY_H

#include <stddef.h>

/// A key of signatures: an EVP_PKEY.
struct copenssl_key;

/// Writes the 32 bytes of a SHA-256 digest (FIPS 180-4).
void copenssl_sha256(const void *bytes, size_t count, unsigned char *digest);
/// Writes the 32 bytes of HMAC-SHA-256 (RFC 2104). Fails for a key of 2 GiB, and without memory.
int copenssl_hmac_sha256(const void *key, size_t key_count, const void *bytes, size_t count, unsigned char *code);
/// 1 if two blocks of `count` bytes are equal. The time depends on `count` only.
int copenssl_equal(const void *left, const void *right, size_t count);
/// Fills a block with unpredictable bytes. Fails if the system has no randomness.
int copenssl_random(void *bytes, size_t count);

/// A private key of Ed25519 from the 32 bytes of its seed (RFC 8032 5.1.5).
struct copenssl_key *copenssl_ed25519_private(const unsigned char *seed);
/// A public key of Ed25519 from its 32 bytes.
struct copenssl_key *copenssl_ed25519_public(const unsigned char *bytes);
/// A public key of P-256 from the two coordinates of 32 bytes each. Fails for a point that is not on the curve.
struct copenssl_key *copenssl_p256_public(const unsigned char *x, const unsigned char *y);
/// A public key of RSA from the modulus and the exponent, both with the highest byte first. The caller checks their sizes.
struct copenssl_key *copenssl_rsa_public(const unsigned char *modulus, size_t modulus_count, const unsigned char *exponent,
                                         size_t exponent_count);
void copenssl_key_free(struct copenssl_key *key);

/// Writes the 32 bytes of the public key of Ed25519.
int copenssl_ed25519_public_bytes(const struct copenssl_key *key, unsigned char *bytes);
/// Writes the 64 bytes of a signature of Ed25519.
int copenssl_ed25519_sign(struct copenssl_key *key, const void *bytes, size_t count, unsigned char *signature);

/// 1 if the 64 bytes are a signature of Ed25519. These three functions only read the key, which threads may share.
int copenssl_ed25519_verify(struct copenssl_key *key, const void *bytes, size_t count, const unsigned char *signature);
/// 1 if the 64 bytes are r and s of a signature of ECDSA with P-256 and SHA-256 (RFC 7518 3.4).
int copenssl_p256_verify(struct copenssl_key *key, const void *bytes, size_t count, const unsigned char *signature);
/// 1 if the bytes are a signature of RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 8.2).
int copenssl_rsa_verify(struct copenssl_key *key, const void *bytes, size_t count, const unsigned char *signature,
                        size_t signature_count);

#endif
