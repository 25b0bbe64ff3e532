import Glibc

/// Certificates for tests, with their files. They are valid for a hundred years unless stated otherwise.
///
/// One test authority, whose key is deleted, issued all of them. The keys are no secrets.
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

    /// Replaces the text of a file of `certificate` or `key`.
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
        MIIBdjCCAR2gAwIBAgIBATAKBggqhkjOPQQDAjAiMSAwHgYDVQQDDBdjaGF0dGVy
        ZCB0ZXN0IGF1dGhvcml0eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAw
        MFowIjEgMB4GA1UEAwwXY2hhdHRlcmQgdGVzdCBhdXRob3JpdHkwWTATBgcqhkjO
        PQIBBggqhkjOPQMBBwNCAATZ8XRDJH/Sv1M9+vBaUDhHh4TopWRggaxqT0sJ1nzw
        i+D8fRbkSoDtgkXPWV6NXNBnjzeIG1gOdLyTvIeNhk/5o0IwQDAPBgNVHRMBAf8E
        BTADAQH/MA4GA1UdDwEB/wQEAwIBBjAdBgNVHQ4EFgQUyMn7Or2kahqaC6UNyis8
        esUjDlcwCgYIKoZIzj0EAwIDRwAwRAIgXroMl4ArTeB7WMXIszXlHVgE4r4oUrs4
        KqTrF3eGY18CIDk8Go5XmpSq7xm174pvO3rCUR2u9Ag/X/WkpPyUFc/j
        -----END CERTIFICATE-----

        """,
        "server.pem": """
        -----BEGIN CERTIFICATE-----
        MIIBuDCCAV6gAwIBAgIBAjAKBggqhkjOPQQDAjAiMSAwHgYDVQQDDBdjaGF0dGVy
        ZCB0ZXN0IGF1dGhvcml0eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAw
        MFowETEPMA0GA1UEAwwGc2VydmVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
        drXFWcY40k2W9uljMljNwhyX878mQGNg3f1V7PRyegTaVjXw5b+7JXLYrBRl/x9J
        EwVz/Bi4hQ9uX+5Ni2WOBaOBkzCBkDA5BgNVHREEMjAwgglsb2NhbGhvc3SCCyou
        d2lsZC50ZXN0hwR/AAABhxAAAAAAAAAAAAAAAAAAAAABMBMGA1UdJQQMMAoGCCsG
        AQUFBwMBMB8GA1UdIwQYMBaAFMjJ+zq9pGoamgulDcorPHrFIw5XMB0GA1UdDgQW
        BBQrqnZrpOkRY0NVwwTibrZEVzB5sTAKBggqhkjOPQQDAgNIADBFAiBbQ6C8EQvt
        qsV2h0BVyzoer9QxaM9dv805ZbMjVy2G2AIhAJCUC+oSrnihgY8iYwSG3UmpFpIV
        h21LuXawOd0kJ4rW
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
        MIIBljCCAT2gAwIBAgIBAzAKBggqhkjOPQQDAjAiMSAwHgYDVQQDDBdjaGF0dGVy
        ZCB0ZXN0IGF1dGhvcml0eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAw
        MFowETEPMA0GA1UEAwwGc2Vjb25kMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
        sAJvWqNJ1b0YNBMQa7aNVz+HwdF1csKhsDtdq1vf8qlJDwGhczBx1FgLM/D3t+Lp
        SEckgclIdqNWE++JAN50DKNzMHEwGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAAB
        MBMGA1UdJQQMMAoGCCsGAQUFBwMBMB8GA1UdIwQYMBaAFMjJ+zq9pGoamgulDcor
        PHrFIw5XMB0GA1UdDgQWBBS7DTN1o/Cly92W3Txv4SF4LmQWzjAKBggqhkjOPQQD
        AgNHADBEAiAQN3ghLmTIaPg66IAIwztgWI/dUtas9b+7c21JnIGtbwIgGcXKXn77
        DeSXIt/61JW6nYyVvbGAXPJ+7xkkbmaIiGA=
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
        MIIBljCCATygAwIBAgIBBTAKBggqhkjOPQQDAjAiMSAwHgYDVQQDDBdjaGF0dGVy
        ZCB0ZXN0IGF1dGhvcml0eTAeFw0yMDAxMDEwMDAwMDBaFw0yMTAxMDEwMDAwMDBa
        MBIxEDAOBgNVBAMMB2V4cGlyZWQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAT0
        qFcs3SA1Sf1Nhv1x2SS7yI31baW+mMJEo/tYnntyv76x3VYVq8DBZI5KLTG7wHuW
        PVNkrf7WG6P4bSpZCIe8o3MwcTAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEw
        EwYDVR0lBAwwCgYIKwYBBQUHAwEwHwYDVR0jBBgwFoAUyMn7Or2kahqaC6UNyis8
        esUjDlcwHQYDVR0OBBYEFN0gdb6zeOUctMJRdYHyePbjBps1MAoGCCqGSM49BAMC
        A0gAMEUCIHcb5vAFJzwj1BT9IM6AqKtLElzzh9FjAVKpFVdXWccYAiEAtHqFlwvQ
        XWEaUVY2EO8K7CTKa3Lv/J5U+SKvJIJSJUM=
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
        MIIBmjCCAUGgAwIBAgIBBDAKBggqhkjOPQQDAjAiMSAwHgYDVQQDDBdjaGF0dGVy
        ZCB0ZXN0IGF1dGhvcml0eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAw
        MFowEDEOMAwGA1UEAwwFd3JvbmcwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAT6
        Ub83fKq+042XJtd9HEogZU1YPUf4Fex1yNYhefrEfOvAFKe4Qd5kPhgYInttdvDd
        D7b6fO0YMLYsi3MjpaNCo3gwdjAfBgNVHREEGDAWgg5lbHNld2hlcmUudGVzdIcE
        CgECAzATBgNVHSUEDDAKBggrBgEFBQcDATAfBgNVHSMEGDAWgBTIyfs6vaRqGpoL
        pQ3KKzx6xSMOVzAdBgNVHQ4EFgQUbs6PAOmn0uIdLzP5jsPoc6vzEkkwCgYIKoZI
        zj0EAwIDRwAwRAIgfjHvNOD/Pi+w7NcWb0YBYy73tDDSQcqBY0IyQnAyvhoCIEAt
        5Dvagguhb4PDFdxNWlO7boz1XxyCIu0gF79ty+Ed
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
