import ChatterdBasics

/// The way to a server. Confined to the shard of its server.
protocol MCPChannel: AnyObject {
    /// The number of the connection that the next request uses. The number changes when the next request needs a new connection.
    var generation: Int { get }

    /// Sends a request, and returns the result of its answer. The cancellation of the task ends it.
    func result(of request: MCPRequest, within limit: Duration) async -> Result<JSONSlice, MCPFailure>

    /// Sends a notification. Nothing tells whether it arrives.
    func notify(_ message: [UInt8], _ revision: MCPRevision) async

    /// Ends the connection, and tells the server.
    func close() async
}
