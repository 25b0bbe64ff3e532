import ChatterdDialects
import ChatterdHTTP

/// The paths that the server answers.
public enum Route: String, CaseIterable, Sendable {
    case identity = "/"
    case llmchat = "/llmchat"
    case llmtools = "/llmtools"
    case llmprep = "/llmprep"
    case llmprompt = "/llmprompt"
    case reply = "/replies/:id"
    case regenerate = "/replies/:id/regenerate"
    case choose = "/replies/:id/choose"
    case approvals = "/replies/:id/approvals"
    case conversations = "/conversations"
    case conversation = "/conversations/:c"
    case forkConversation = "/conversations/:c/fork"
    case exportConversation = "/conversations/:c/export"
    case importConversation = "/conversations/:c/import"
    case conversationTitle = "/conversations/:c/title"
    case conversationEvents = "/conversations/:c/events"
    case postchatt = "/postchatt"
    case getchatts = "/getchatts"
    case weather = "/weather"
    case models = "/models"
    case upstreams = "/upstreams"
    case upstream = "/upstreams/:name"
    case testUpstream = "/upstreams/:name/test"
    case keys = "/keys"
    case key = "/keys/:id"
    case rotateKey = "/keys/:id/rotate"
    case session = "/session"
    case links = "/links"
    case tokens = "/tokens"
    case person = "/people/:person"
    case audit = "/audit"
    case usage = "/usage"
    case healthz = "/healthz"
    case readyz = "/readyz"
    case openAPI = "/openapi.json"
    case pageFile = "/page/:file"
    case pageView = "/page/views/:file"
    case pageMarkdown = "/page/markdown/:file"
    /// A request for any other path.
    case none = "-"

    /// The patterns of routes that every host and origin may use.
    static let openRoutes: Set<String> = [healthz.rawValue, readyz.rawValue, openAPI.rawValue]
    /// The routes that a signed link may open: all reading of a reply or a conversation.
    static let linkRoutes: Set<Route> = [.reply, .conversation, .exportConversation, .conversationEvents]
    /// The patterns of routes that a link of another site may open.
    static let pageRoutes: Set<String> = [identity.rawValue]
    /// The fields that pages of the configured origins may send.
    static let requestFields: [FieldName] = [
        .anthropicVersion, .authorization, .contentType, .idempotencyKey, .lastEventID, .onDisconnect, .queueEvents,
        .stepEvents, .xAPIKey, .xAppID,
        .xConversationID, .xHistory, .xRequestID,
    ]
}
