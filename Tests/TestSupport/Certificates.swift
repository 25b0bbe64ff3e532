import Glibc

/// Certificates for tests, valid for a hundred years unless said otherwise, and the files they are read from.
///
/// All are of one test authority, whose key is not kept. The keys protect nothing.
public final class Certificates: Sendable {
    /// The folder of the files, removed with the object.
    private let folder: String

    /// Writes the files.
    public init() throws {
        var template = Array("/tmp/chatterd-certificates-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestFailure("no temporary folder") }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        for (name, text) in Self.files {
            try write(text, to: name)
        }
    }

    deinit {
        for (name, _) in Self.files {
            unlink("\(folder)/\(name)")
        }
        rmdir(folder)
    }

    /// The certificate of the test authority.
    public var authority: String { "\(folder)/authority.pem" }

    /// A certificate: `server` for localhost, *.wild.test, 127.0.0.1 and ::1; `second` for localhost and 127.0.0.1;
    /// `expired`, the same, until 2021; `wrong` for elsewhere.test and 10.1.2.3.
    public func certificate(_ name: String) -> String { "\(folder)/\(name).pem" }

    /// The key of a certificate.
    public func key(_ name: String) -> String { "\(folder)/\(name).key" }

    /// Replaces a certificate and its key by another pair, as an operator would.
    public func replace(_ name: String, by other: String) throws {
        for suffix in ["pem", "key"] {
            try write(Self.files["\(other).\(suffix)"] ?? "", to: "\(name).\(suffix)")
        }
    }

    /// Replaces a file of `certificate` or `key` by something else.
    public func overwrite(_ path: String, with text: String) throws {
        try write(text, to: String(path.dropFirst(folder.count + 1)))
    }

    private func write(_ text: String, to name: String) throws {
        guard let file = fopen("\(folder)/\(name)", "w") else { throw TestFailure("cannot write \(name)") }
        fputs(text, file)
        fclose(file)
    }

    private static let files = [
        "authority.pem": """
        -----BEGIN CERTIFICATE-----
        MIIBmzCCAUGgAwIBAgIUbsPiQALDT097pb3a19TSLhmPSCswCgYIKoZIzj0EAwIw
        IjEgMB4GA1UEAwwXY2hhdHRlcmQgdGVzdCBhdXRob3JpdHkwIBcNMjYxMTIwMTM0
        OTQwWhgPMjEyNjEwMjcxMzQ5NDBaMCIxIDAeBgNVBAMMF2NoYXR0ZXJkIHRlc3Qg
        YXV0aG9yaXR5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE2fF0QyR/0r9TPfrw
        WlA4R4eE6KVkYIGsak9LCdZ88Ivg/H0W5EqA7YJFz1lejVzQZ483iBtYDnS8k7yH
        jYZP+aNTMFEwHQYDVR0OBBYEFMjJ+zq9pGoamgulDcorPHrFIw5XMB8GA1UdIwQY
        MBaAFMjJ+zq9pGoamgulDcorPHrFIw5XMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZI
        zj0EAwIDSAAwRQIhAOSxzMkdBDH9aFNThMmPqD3cfvwfTNarRcaIhpkrE2AsAiBC
        NTVRSQce2F49lUpMK+7zTmbfzwUPd96nQKmDgSSPmQ==
        -----END CERTIFICATE-----

        """,
        "server.pem": """
        -----BEGIN CERTIFICATE-----
        MIIByzCCAXGgAwIBAgIUNysziDMd9ICGG+l1bnAjVSSiHTQwCgYIKoZIzj0EAwIw
        IjEgMB4GA1UEAwwXY2hhdHRlcmQgdGVzdCBhdXRob3JpdHkwIBcNMjYxMTIwMTM0
        OTQwWhgPMjEyNjEwMjcxMzQ5NDBaMBExDzANBgNVBAMMBnNlcnZlcjBZMBMGByqG
        SM49AgEGCCqGSM49AwEHA0IABHa1xVnGONJNlvbpYzJYzcIcl/O/JkBjYN39Vez0
        cnoE2lY18OW/uyVy2KwUZf8fSRMFc/wYuIUPbl/uTYtljgWjgZMwgZAwOQYDVR0R
        BDIwMIIJbG9jYWxob3N0ggsqLndpbGQudGVzdIcEfwAAAYcQAAAAAAAAAAAAAAAA
        AAAAATATBgNVHSUEDDAKBggrBgEFBQcDATAdBgNVHQ4EFgQUK6p2a6TpEWNDVcME
        4m62RFcwebEwHwYDVR0jBBgwFoAUyMn7Or2kahqaC6UNyis8esUjDlcwCgYIKoZI
        zj0EAwIDSAAwRQIhAOUsbNvWDU4ArV1vUx0S0SXnRliqzf+cU0U6mi4GEQpHAiBL
        LE/Smt9HrbwjcZ56rfAXdS+p+9oAEOzHlIvejLGjJA==
        -----END CERTIFICATE-----

        """,
        "server.key": """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgOOaKTBuMVm641Ryr
        gV1pgub7QEJ8MQOSyDl+4h845DmhRANCAAR2tcVZxjjSTZb26WMyWM3CHJfzvyZA
        Y2Dd/VXs9HJ6BNpWNfDlv7slctisFGX/H0kTBXP8GLiFD25f7k2LZY4F
        -----END PRIVATE KEY-----

        """,
        "second.pem": """
        -----BEGIN CERTIFICATE-----
        MIIBqjCCAVCgAwIBAgIUNysziDMd9ICGG+l1bnAjVSSiHTUwCgYIKoZIzj0EAwIw
        IjEgMB4GA1UEAwwXY2hhdHRlcmQgdGVzdCBhdXRob3JpdHkwIBcNMjYxMTIwMTM0
        OTQwWhgPMjEyNjEwMjcxMzQ5NDBaMBExDzANBgNVBAMMBnNlY29uZDBZMBMGByqG
        SM49AgEGCCqGSM49AwEHA0IABLACb1qjSdW9GDQTEGu2jVc/h8HRdXLCobA7Xatb
        3/KpSQ8BoXMwcdRYCzPw97fi6UhHJIHJSHajVhPviQDedAyjczBxMBoGA1UdEQQT
        MBGCCWxvY2FsaG9zdIcEfwAAATATBgNVHSUEDDAKBggrBgEFBQcDATAdBgNVHQ4E
        FgQUuw0zdaPwpcvdlt08b+EheC5kFs4wHwYDVR0jBBgwFoAUyMn7Or2kahqaC6UN
        yis8esUjDlcwCgYIKoZIzj0EAwIDSAAwRQIgZdKCdr3VT30Ekg1BufgrVce8haY2
        1XC8uUSOukegYyoCIQCMGVb2m8SmpHOwSUIHZNL9MANYXVfkGr/wtIcZPTikhw==
        -----END CERTIFICATE-----

        """,
        "second.key": """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgq8MyoYHxgYjiyQnO
        lmwchqsbjnqh+DQE3NgdpDQyXSahRANCAASwAm9ao0nVvRg0ExBrto1XP4fB0XVy
        wqGwO12rW9/yqUkPAaFzMHHUWAsz8Pe34ulIRySByUh2o1YT74kA3nQM
        -----END PRIVATE KEY-----

        """,
        "expired.pem": """
        -----BEGIN CERTIFICATE-----
        MIIBljCCATygAwIBAgIBATAKBggqhkjOPQQDAjAiMSAwHgYDVQQDDBdjaGF0dGVy
        ZCB0ZXN0IGF1dGhvcml0eTAeFw0yMDAxMDEwMDAwMDBaFw0yMTAxMDEwMDAwMDBa
        MBIxEDAOBgNVBAMMB2V4cGlyZWQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAT0
        qFcs3SA1Sf1Nhv1x2SS7yI31baW+mMJEo/tYnntyv76x3VYVq8DBZI5KLTG7wHuW
        PVNkrf7WG6P4bSpZCIe8o3MwcTAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEw
        EwYDVR0lBAwwCgYIKwYBBQUHAwEwHQYDVR0OBBYEFN0gdb6zeOUctMJRdYHyePbj
        Bps1MB8GA1UdIwQYMBaAFMjJ+zq9pGoamgulDcorPHrFIw5XMAoGCCqGSM49BAMC
        A0gAMEUCIHRIuTvGhfntpBux8lpOcKLeYnyfYol0cJ1FBgF+98LTAiEAufK2oSSb
        RWnj4sfNKNWL3oCtK9ARGMSAr0OCy3OkP3s=
        -----END CERTIFICATE-----

        """,
        "expired.key": """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0j7dwhNMIxgp+MxI
        gU+ley3/GVSKeaYMIY28jXEmZkKhRANCAAT0qFcs3SA1Sf1Nhv1x2SS7yI31baW+
        mMJEo/tYnntyv76x3VYVq8DBZI5KLTG7wHuWPVNkrf7WG6P4bSpZCIe8
        -----END PRIVATE KEY-----

        """,
        "wrong.pem": """
        -----BEGIN CERTIFICATE-----
        MIIBrjCCAVSgAwIBAgIUNysziDMd9ICGG+l1bnAjVSSiHTYwCgYIKoZIzj0EAwIw
        IjEgMB4GA1UEAwwXY2hhdHRlcmQgdGVzdCBhdXRob3JpdHkwIBcNMjYxMTIwMTM0
        OTQwWhgPMjEyNjEwMjcxMzQ5NDBaMBAxDjAMBgNVBAMMBXdyb25nMFkwEwYHKoZI
        zj0CAQYIKoZIzj0DAQcDQgAE+lG/N3yqvtONlybXfRxKIGVNWD1H+BXsdcjWIXn6
        xHzrwBSnuEHeZD4YGCJ7bXbw3Q+2+nztGDC2LItzI6WjQqN4MHYwHwYDVR0RBBgw
        FoIOZWxzZXdoZXJlLnRlc3SHBAoBAgMwEwYDVR0lBAwwCgYIKwYBBQUHAwEwHQYD
        VR0OBBYEFG7OjwDpp9LiHS8z+Y7D6HOr8xJJMB8GA1UdIwQYMBaAFMjJ+zq9pGoa
        mgulDcorPHrFIw5XMAoGCCqGSM49BAMCA0gAMEUCIEDG87HUzZQ37MnYR3IJMmWD
        CXxWLSjW6AAxMBqt0yReAiEAw6jFUQU9AA12ZNSuTCWFS2+hbqWlp4Q24TmgMetl
        iSg=
        -----END CERTIFICATE-----

        """,
        "wrong.key": """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgx9Daglkt9xNWxuTw
        BkvLm4+t4gcR/UisQduwUt6jCyWhRANCAAT6Ub83fKq+042XJtd9HEogZU1YPUf4
        Fex1yNYhefrEfOvAFKe4Qd5kPhgYInttdvDdD7b6fO0YMLYsi3MjpaNC
        -----END PRIVATE KEY-----

        """,
    ]
}
