#include "COpenSSLCryptography.h"

#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

/// The result of an operation. A failure must leave no error in the queue, where a TLS session of the thread would find it.
static int conclude(int succeeded) {
    if (!succeeded) ERR_clear_error();
    return succeeded;
}

static struct copenssl_key *conclude_key(EVP_PKEY *key) {
    if (!key) ERR_clear_error();
    return (struct copenssl_key *)key;
}

// Digests, codes, random bytes

// SHA256() looks the algorithm up for each digest, which takes longer than the digest of a short text.
static EVP_MD *sha256;
static CRYPTO_ONCE sha256_once = CRYPTO_ONCE_STATIC_INIT;

static void find_sha256(void) { sha256 = EVP_MD_fetch(NULL, "SHA256", NULL); }

void copenssl_sha256(const void *bytes, size_t count, unsigned char *digest) {
    // Without memory there is no digest, and no caller can go on without one.
    if (!CRYPTO_THREAD_run_once(&sha256_once, find_sha256) || !sha256 || !EVP_Digest(bytes, count, digest, NULL, sha256, NULL)) abort();
}

int copenssl_hmac_sha256(const void *key, size_t key_count, const void *bytes, size_t count, unsigned char *code) {
    if (key_count > INT_MAX) return 0;
    unsigned length = 0;
    return conclude(HMAC(EVP_sha256(), key, (int)key_count, bytes, count, code, &length) && length == 32);
}

int copenssl_equal(const void *left, const void *right, size_t count) { return CRYPTO_memcmp(left, right, count) == 0; }

int copenssl_random(void *bytes, size_t count) {
    if (count > INT_MAX) return 0;
    return conclude(RAND_bytes(bytes, (int)count) == 1);
}

// Keys

/// A public key from the parameters of a builder, which stays with the caller.
static EVP_PKEY *public_key(const char *type, OSSL_PARAM_BLD *builder) {
    EVP_PKEY *key = NULL;
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    // A failure leaves `key` NULL.
    if (parameters && context && EVP_PKEY_fromdata_init(context) == 1)
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(parameters);
    return key;
}

struct copenssl_key *copenssl_ed25519_private(const unsigned char *seed) {
    return conclude_key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, 32));
}

struct copenssl_key *copenssl_ed25519_public(const unsigned char *bytes) {
    return conclude_key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes, 32));
}

/// Whether a point is a valid public key: on the curve, and not the point at infinity (SP 800-56A 5.6.2.3.3).
static int is_valid(EVP_PKEY *key) {
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    int valid = context && EVP_PKEY_public_check(context) == 1;
    EVP_PKEY_CTX_free(context);
    return valid;
}

struct copenssl_key *copenssl_p256_public(const unsigned char *x, const unsigned char *y) {
    unsigned char point[65] = {POINT_CONVERSION_UNCOMPRESSED};
    memcpy(point + 1, x, 32);
    memcpy(point + 33, y, 32);
    EVP_PKEY *key = NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (builder && OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point))
        key = public_key("EC", builder);
    OSSL_PARAM_BLD_free(builder);
    if (key && !is_valid(key)) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    return conclude_key(key);
}

struct copenssl_key *copenssl_rsa_public(const unsigned char *modulus, size_t modulus_count, const unsigned char *exponent,
                                         size_t exponent_count) {
    if (modulus_count > INT_MAX || exponent_count > INT_MAX) return NULL;
    EVP_PKEY *key = NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    BIGNUM *n = BN_bin2bn(modulus, (int)modulus_count, NULL);
    BIGNUM *e = BN_bin2bn(exponent, (int)exponent_count, NULL);
    if (builder && n && e && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e))
        key = public_key("RSA", builder);
    BN_free(n);
    BN_free(e);
    OSSL_PARAM_BLD_free(builder);
    return conclude_key(key);
}

void copenssl_key_free(struct copenssl_key *key) { EVP_PKEY_free((EVP_PKEY *)key); }

int copenssl_ed25519_public_bytes(const struct copenssl_key *key, unsigned char *bytes) {
    size_t count = 32;
    return conclude(EVP_PKEY_get_raw_public_key((const EVP_PKEY *)key, bytes, &count) == 1 && count == 32);
}

// Signatures. OpenSSL allows threads to share an EVP_PKEY that does not change; each call makes its own context.

int copenssl_ed25519_sign(struct copenssl_key *key, const void *bytes, size_t count, unsigned char *signature) {
    size_t length = 64;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int succeeded = context && EVP_DigestSignInit(context, NULL, NULL, NULL, (EVP_PKEY *)key) == 1 &&
                    EVP_DigestSign(context, signature, &length, bytes, count) == 1 && length == 64;
    EVP_MD_CTX_free(context);
    return conclude(succeeded);
}

/// 1 if a signature is right. `digest` is NULL for Ed25519, `padding` is 0 for all but RSA.
static int verify(EVP_PKEY *key, const EVP_MD *digest, int padding, const void *bytes, size_t count,
                  const unsigned char *signature, size_t signature_count) {
    EVP_PKEY_CTX *settings = NULL;  // belongs to `context`
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int right = context && EVP_DigestVerifyInit(context, &settings, digest, NULL, key) == 1 &&
                (!padding || EVP_PKEY_CTX_set_rsa_padding(settings, padding) == 1) &&
                EVP_DigestVerify(context, signature, signature_count, bytes, count) == 1;
    EVP_MD_CTX_free(context);
    return conclude(right);
}

int copenssl_ed25519_verify(struct copenssl_key *key, const void *bytes, size_t count, const unsigned char *signature) {
    return verify((EVP_PKEY *)key, NULL, 0, bytes, count, signature, 64);
}

int copenssl_p256_verify(struct copenssl_key *key, const void *bytes, size_t count, const unsigned char *signature) {
    // OpenSSL takes the numbers as DER: two headers of 2 bytes each, and 33 bytes each, after a header of 2 bytes.
    unsigned char encoded[72], *end = encoded;
    int length = 0;
    ECDSA_SIG *numbers = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature, 32, NULL);
    BIGNUM *s = BN_bin2bn(signature + 32, 32, NULL);
    if (numbers && r && s && ECDSA_SIG_set0(numbers, r, s) == 1) {
        // The signature owns the numbers now.
        length = i2d_ECDSA_SIG(numbers, NULL) <= (int)sizeof encoded ? i2d_ECDSA_SIG(numbers, &end) : 0;
    } else {
        BN_free(r);
        BN_free(s);
    }
    ECDSA_SIG_free(numbers);
    if (length <= 0) return conclude(0);
    return verify((EVP_PKEY *)key, EVP_sha256(), 0, bytes, count, encoded, (size_t)length);
}

int copenssl_rsa_verify(struct copenssl_key *key, const void *bytes, size_t count, const unsigned char *signature,
                        size_t signature_count) {
    return verify((EVP_PKEY *)key, EVP_sha256(), RSA_PKCS1_PADDING, bytes, count, signature, signature_count);
}
