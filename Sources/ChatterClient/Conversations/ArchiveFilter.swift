/// Which conversations a list has.
public enum ArchiveFilter: String, Sendable, Hashable {
    case active = "0"
    case archived = "1"
    case all
}
