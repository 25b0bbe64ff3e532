import ChatterdBasics
import ChatterdCryptography

/// The keys and signatures of RFC 7515 and RFC 8037, and tokens that their private keys sign.
enum JWSVectors {
    /// RFC 7515, appendix A.2.1.
    static let modulus =
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_"
        + "YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uD"
        + "Zlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
    /// RFC 7515, appendix A.3.1.
    static let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    static let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    /// RFC 8037, appendices A.1 and A.2.
    static let seed = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"
    static let ed25519 = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"

    /// RFC 7515, appendix A.2.
    static let rs256 = [
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
        "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQ"
            + "jbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHW"
            + "EsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
    ]
    /// RFC 7515, appendix A.3.
    static let es256 = [
        "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
    ]
    /// RFC 8037, appendix A.4.
    static let edDSA = [
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
    ]

    /// A token of the key of RSA: `kid` is `r1`, `iss` is `https://accounts.example`, `sub` is `ann`, `aud` is `shop-client`, `iat` is
    /// 1999999000, and `exp` is 2000000000.
    static let rsaToken =
        "eyJhbGciOiJSUzI1NiIsImtpZCI6InIxIiwidHlwIjoiSldUIn0.\(payload).kIutW3UYn6HKcZ8fr5AkznY_4PBvMBeEOzhFJpcnSuZ9Sm96YS_J8fJS"
        + "HizkZRI1BVdWJncXxYs1yFUrQmovlkNB6MWcnFM-g14NI0d8dIkr5Z9vobApW-qhQiBPVkCXTiw0URswMBF-SlF2pOCTQ7PZDpQ3Y3frOORgfCO4nmWnss6D"
        + "uYI6u0qr3waUY8gf12WrHjKybAmHwKzJCRdwC2_0XuxyDq84DGpBQbOR5UO2X6zdwjVEeLhGfrtyDiSdURClGsE_pKdWPFAEfQ1zw2r8SqteaCO0OD15y5Yo"
        + "oyN_Zu_slLPmdmVqUsiW__VnkwhJgiqQ9LvDDofGUMevvA"
    /// The signature of the same text with RSASSA-PSS.
    static let pssSignature =
        "iY0lDIveW11lYEx-5h3uvCSQ-9qWA3ZhoQSdL8IkD-GzBG78tC3HT05X2eOiW1MDhB8h9i-lTCnmOg9kieLZaww8HU-sGm4zAVu2URbbhlk_Q4MF77SuGk60"
        + "hds0JT58Ji-XzRILKjbvo_9m5Xm6NcDUKE1GKMpyUHYq3xa8cuAXJCpY0ICZC6wlXW1C2LXZRu5N3WESVr1BJmqOjFDq2Fb24Y7WjjpQ_8yA9C8kLjMJPj6k"
        + "T8jsu3RwyGuITOqG7_HzGrt6KHaauQDtUPQyQAEAD-kEXwGUAwdJNyRQETpQHV7ePFzBVB9cwznRhtpIDo6uwYz4qzWXdk8kGQaKWQ"
    /// The same with the key of P-256; `kid` is `e1`.
    static let p256Token =
        "eyJhbGciOiJFUzI1NiIsImtpZCI6ImUxIiwidHlwIjoiSldUIn0.\(payload).DesLBi-vGpmFEBOEHd6Tm59AVVPImEjFR1HxdTPvDl-ZMQ31FVUNtF5k"
        + "F1-5T6DXLJk5NAA4n5GMR0tCAi_StA"
    /// The signature of that token in DER.
    static let derSignature =
        "MEUCIA3rCwYvrxqZhRAThB3ek5ufQFVTyJhIxUdR8XUz7w5fAiEAmTEN9RVVDbReZBdfuU-g1yyZOTQAOJ-RjEdLQgIv0rQ"

    private static let payload =
        "eyJpc3MiOiJodHRwczovL2FjY291bnRzLmV4YW1wbGUiLCJzdWIiOiJhbm4iLCJhdWQiOiJzaG9wLWNsaWVudCIsImV4cCI6MjAwMDAwMDAwMCwiaWF0Ijox"
        + "OTk5OTk5MDAwfQ"

    /// The bytes of base64url; none for another text.
    static func bytes(_ text: String) -> [UInt8] { Base64URL.decode(text) ?? [] }

    static func rsaKey() throws -> VerificationKey {
        try VerificationKey(rsaModulus: bytes(modulus), exponent: bytes("AQAB"))
    }

    static func p256Key() throws -> VerificationKey {
        try VerificationKey(p256X: bytes(x), y: bytes(y))
    }

    static func ed25519Key() throws -> VerificationKey {
        try VerificationKey(ed25519: bytes(ed25519))
    }
}
