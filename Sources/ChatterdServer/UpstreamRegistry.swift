import LanguageModels
import Relay

/// The model servers of the process.
enum UpstreamRegistry {
    /// Finds what the descriptions refer to; those that this process cannot ask are logged and left out.
    static func prepare(_ configuration: Configuration.Upstreams, log: Log) -> [PreparedUpstream] {
        configuration.list.compactMap { description in
            do throws(UpstreamKeys.Problem) {
                return try PreparedUpstream(description, keys: configuration.keys, health: UpstreamHealth())
            } catch {
                log.event(.warning, "model server left out", .upstream(description.name), .detail(error.message))
                return nil
            }
        }
    }
}
