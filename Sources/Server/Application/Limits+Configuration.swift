import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdLanguageModels

extension Limits {
    /// The limits that the configuration gives.
    init(_ configuration: Configuration) {
        self.init()
        let given = configuration.server
        head.startLine = given.requestLineLimit
        head.total = given.headLimit
        head.fieldLine = given.headLimit
        head.fields = given.fieldsLimit
        body.body = given.bodyLimit
        headDeadline = given.headTimeout
        bodyDeadline = given.bodyTimeout
        bodyRate = given.bodyMinimumRate
        idle = given.idleTimeout
        connections = given.maximumConnections
        writeStall = given.writeTimeout
        // The upstream is paused at the limit; one more read of it may be on its way.
        unsentOutput = given.unsentLimit + 4 * configuration.upstreams.limits.line
    }
}
