import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration

/// The options of `chatterd doctor`.
public struct DoctorRequest: Sendable, Equatable {
    /// A stream through the address that clients use.
    public struct Stream: Sendable, Equatable {
        let url: UpstreamURL
        /// The model to ask.
        var model = Configuration.Upstreams.echo.name
        /// The path of a file with a key of an app; `nil` for a request without one.
        var keyFile: String?
    }

    /// Whether the report is a JSON document.
    public var isJSON = false
    /// Whether a model of each server answers a short chat.
    public var asksModels = false
    /// The stream to measure; `nil` for none.
    public var through: Stream?

    /// A request without options.
    public init() {}

    /// Reads the arguments that follow `doctor`.
    ///
    /// - Throws: an error that says which argument is wrong.
    init(arguments: ArraySlice<String>) throws(UsageError) {
        var options = CommandOptions(arguments)
        isJSON = options.flag("--json")
        asksModels = options.flag("--chat")
        let model = try options.value("--model")
        let keyFile = try options.value("--key-file")
        if let text = try options.value("--through") {
            do throws(SettingProblem) {
                through = Stream(url: try UpstreamURL(parsing: text))
            } catch {
                throw UsageError("--through: \(error.messages.joined(separator: "; "))")
            }
            through?.keyFile = keyFile
            if let model { through?.model = model }
        } else if model != nil || keyFile != nil {
            throw UsageError("--model and --key-file are options of doctor --through URL")
        }
        try options.requireEmpty("doctor")
    }
}
