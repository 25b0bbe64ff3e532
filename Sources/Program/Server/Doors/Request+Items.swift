import ChatterdBasics
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdRelay
import ChatterdSockets

extension Request {
    /// A query item that is `true` or `false`; `false` without it.
    ///
    /// - Throws: `invalidRequest`.
    func boolean(_ name: String) throws(RelayError) -> Bool {
        switch head.target.queryItem(name) {
        case nil, "false", "False": return false
        case "true", "True": return true
        default: throw RelayError(.invalidRequest, "\(name) must be true or false.")
        }
    }

    /// The page of a list of items that the query asks for.
    ///
    /// - Throws: `invalidRequest`.
    func itemPage() throws(RelayError) -> ItemList.Page {
        var page = ItemList.Page()
        let target = head.target
        if let text = target.queryItem("limit") {
            guard let limit = Int(text), 1...ItemList.Page.maximumLimit ~= limit else {
                throw RelayError(.invalidRequest, "limit must be a number from 1 to \(ItemList.Page.maximumLimit).")
            }
            page.limit = limit
        }
        switch target.queryItem("order") {
        case nil, "desc": break
        case "asc": page.isAscending = true
        default: throw RelayError(.invalidRequest, "order must be asc or desc.")
        }
        page.after = target.queryItem("after")
        return page
    }
}

extension [ConversationRow] {
    /// The size of the rows for `LongWork`, in bytes: a row costs time without a text, too.
    var workSize: Int { reduce(0) { $0 + 256 + $1.size } }

    /// The size of what the requests of the replies have besides messages, in bytes.
    fileprivate var requestSize: Int {
        reduce(0) { size, row in
            guard case .reply(let reply) = row.kind else { return size }
            return size + reply.options.count
        }
    }
}

extension ItemList {
    /// The items of rows, which may have long texts.
    ///
    /// - Parameter kept: what was kept with the request of the rows that no reply follows.
    static func listing(_ rows: [ConversationRow], kept: [UInt8]? = nil) async -> ItemList {
        await LongWork.run(on: rows.workSize + rows.requestSize + (kept?.count ?? 0)) { ItemList(rows, kept: kept) }
    }
}

extension Responder {
    /// Answers with a page of items.
    ///
    /// - Throws: `invalidRequest` if `after` is none of them.
    func respond(_ items: ItemList, _ page: ItemList.Page, memory: MemoryReservation) throws(RelayError) {
        var body = ByteBuffer()
        guard items.append(page, to: &body) else {
            throw RelayError(.invalidRequest, "after is not one of the items.")
        }
        respond(json: body, fields: [.cacheControl: "no-store"], memory: memory)
    }
}
