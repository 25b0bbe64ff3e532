import Glibc

/// A user to run a program as.
struct UserID: Sendable {
    let uid: uid_t
    let gid: gid_t

    init(uid: uid_t, gid: gid_t) {
        self.uid = uid
        self.gid = gid
    }

    /// Looks up a user; `nil` if there is no such user.
    init?(name: String) {
        guard let entry = getpwnam(name) else { return nil }
        self.init(uid: entry.pointee.pw_uid, gid: entry.pointee.pw_gid)
    }
}
