/// The version of the program.
public enum Version {
    /// The version as `chatterd version` prints it.
    public static let current = "0.2.0"
}
