import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgresStore

/// JSON about the conversations of an owner: docs/api.md.
enum ConversationDocument {
    /// A conversation.
    static func json(_ entry: CatalogueEntry) -> ByteBuffer {
        document { json in
            json.object { write(entry, to: &$0) }
        }
    }

    /// A page of the list.
    static func json(_ page: CataloguePage) -> ByteBuffer {
        document { json in
            json.object { json in
                json.array("conversations") { json in
                    for entry in page.entries {
                        json.object { write(entry, to: &$0) }
                    }
                }
                json.member("next", page.next?.text)
            }
        }
    }

    /// A page of the result of a search.
    static func json(_ page: SearchPage) -> ByteBuffer {
        document { json in
            json.object { json in
                json.array("conversations") { json in
                    for hit in page.hits {
                        json.object { json in
                            write(hit.entry, to: &json)
                            json.array("matches") { json in
                                for match in hit.matches {
                                    write(match, to: &json)
                                }
                            }
                        }
                    }
                }
                json.member("next", page.next?.text)
            }
        }
    }

    private static func document(_ body: (inout JSONWriter) -> Void) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.appendJSON { body(&$0) }
        return buffer
    }

    private static func write(_ entry: CatalogueEntry, to json: inout JSONWriter) {
        json.member("conversation", entry.key.name)
        json.member("title", entry.title ?? entry.opening.flatMap(ConversationTitle.opening(of:)))
        write("created_at", microseconds: entry.createdAt, to: &json)
        write("updated_at", microseconds: entry.updatedAt, to: &json)
        json.member("archived", entry.isArchived)
        json.member("running", entry.isRunning)
    }

    private static func write(_ match: SearchHit.Match, to json: inout JSONWriter) {
        json.object { json in
            json.member("seq", Int(match.seq))
            json.member("role", match.role)
            json.member("excerpt", match.excerpt)
        }
    }

    private static func write(_ name: String, microseconds: Int64, to json: inout JSONWriter) {
        json.name(name)
        json.raw { buffer in
            buffer.append("\"")
            buffer.append(rfc3339: microseconds.multipliedReportingOverflow(by: 1000).partialValue)
            buffer.append("\"")
        }
    }
}
