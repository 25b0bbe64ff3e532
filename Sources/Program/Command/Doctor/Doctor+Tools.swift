import ChatterdConfiguration
import ChatterdSockets
import ChatterdTools

extension Doctor {
    /// Whether the servers of tools can be used.
    static func toolServers(_ tools: Configuration.Tools) async -> [Check] {
        guard !tools.servers.isEmpty else { return [] }
        do {
            let reports = await ToolsRequest.reports(of: tools, on: try Shard(index: 0))
            // A server that was asked again has several reports.
            return tools.servers.flatMap { server in
                reports.last { $0.server == server.name }.map(checks) ?? []
            }
        } catch {
            return [.doubtful(.toolServer, "they cannot be asked: \(error)", advice: "raise the limit on open files")]
        }
    }

    private static func checks(of report: MCPServers.Report) -> [Check] {
        let subject = "server of tools \(SettingText.excerpt(report.server))"
        guard !report.problems.isEmpty else { return [.fine(.toolServer, of: subject, "tools: \(report.count)")] }
        return report.problems.map {
            .doubtful(
                .toolServer, of: subject, $0,
                advice: "start or correct it, or correct CHATTERD_TOOLS: models do not get these tools")
        }
    }
}
