/// The type of a parameter.
public enum ParameterType: Sendable {
    /// `boolean`.
    case boolean
    /// `bigint`.
    case int8
    /// `double precision`.
    case double
    /// `text`.
    case text
    /// `bytea`.
    case bytes
    /// `uuid`.
    case uuid
    /// `timestamptz`.
    case timestamp
    /// `integer`. Only as elements of an array.
    case int4
    /// `integer[]`.
    case int4Array
    /// `bigint[]`.
    case int8Array
    /// `text[]`.
    case textArray
    /// `uuid[]`.
    case uuidArray

    /// The number of the type at the server, which is fixed for built-in types.
    var oid: UInt32 {
        switch self {
        case .boolean: 16
        case .bytes: 17
        case .int8: 20
        case .int4: 23
        case .text: 25
        case .double: 701
        case .int4Array: 1007
        case .int8Array: 1016
        case .textArray: 1009
        case .timestamp: 1184
        case .uuid: 2950
        case .uuidArray: 2951
        }
    }
}
