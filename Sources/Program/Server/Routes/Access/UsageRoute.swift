import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay

/// `GET /usage`: docs/api.md.
struct UsageRoute: Sendable {
    /// The number of days of a report unless the request says otherwise.
    static let standardDays = 7
    /// The number of people in one answer unless the request says otherwise.
    static let standardLimit = 100

    let store: UsageStore

    /// Reports the use of a key with that of its people, of a person, or, for an administrator, of any key or app.
    @Sendable func report(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let subject = try Self.subject(of: request, principal)
        let days = try request.queryNumber("days", in: 1...UsageStore.daysLimit) ?? Self.standardDays
        let limit = try request.queryNumber("limit", in: 1...UsageStore.ownersLimit) ?? Self.standardLimit
        let report = try await store.report(
            of: subject.usage, days: days, after: try Self.position(of: request), limit: limit)
        Self.respond(report, of: subject, to: responder)
    }

    /// The subject of an answer, and the members that name it.
    private struct Subject {
        let usage: UsageSubject
        var key: String?
        var app: String?
        var person: String?
        var meter: Meter?
    }

    /// - Throws: `unauthorized` without a credential; `forbidden` for the use of others; `invalidRequest` if an administrator names none.
    private static func subject(of request: Request, _ principal: Principal) throws(RelayError) -> Subject {
        let (key, app) = (request.head.target.queryItem("key"), request.head.target.queryItem("app"))
        if key != nil || app != nil {
            guard principal.scopes.contains(.admin) else {
                throw RelayError(
                    AccessError(
                        .forbidden,
                        "Only an administrator sees the use of another key or app. Leave out ?key= and ?app=."))
            }
            try key?.requireName("key", upTo: SignedLink.maximumIDLength)
            try app?.requireName("app", upTo: Owner.maximumAppLength)
            if let key { return Subject(usage: .source(.key(key)), key: key) }
            return Subject(usage: .app(app ?? ""), app: app)
        }
        guard let meter = principal.meter else {
            guard principal.scopes.contains(.admin) else {
                throw RelayError(Principal.neededCredential(for: .read))
            }
            throw RelayError(.invalidRequest, "Name a key or an app: /usage?key=ID or /usage?app=NAME.")
        }
        guard case .key(let id) = principal.credential else {
            return Subject(
                usage: .owner(meter.owner), app: meter.owner.app, person: meter.owner.person, meter: meter)
        }
        return Subject(usage: .source(meter.source), key: id, app: meter.owner.app, meter: meter)
    }

    /// The owner of `?after=`, the `next` of the answer before.
    private static func position(of request: Request) throws(RelayError) -> Owner? {
        guard let text = request.head.target.queryItem("after") else { return nil }
        guard let parts = Base64URL.decode(text).map({ String(decoding: $0, as: UTF8.self) }),
            case let owner = ConversationKey(parsing: parts).owner, owner.keyPrefix == parts,
            Owner.isName(owner.app), Owner.isName(owner.person ?? "")
        else { throw RelayError(.invalidRequest, "after must be the next of an earlier answer.") }
        return owner
    }

    private static func respond(_ report: UsageReport, of subject: Subject, to responder: Responder) {
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.member("key", subject.key)
                json.member("app", subject.app)
                json.member("person", subject.person)
                if let meter = subject.meter, meter.isLimited {
                    let limits = subject.key == nil ? meter.ownerLimits : meter.sourceLimits
                    json.object("limits") { json in
                        for (name, value) in limits.members {
                            json.member(name, value)
                        }
                    }
                }
                // The store reports today in any case.
                if let today = report.days.first {
                    json.object("today") { today.write("day", today.name, to: &$0) }
                }
                json.array("days") { json in
                    for day in report.days {
                        json.object { day.write("day", day.name, to: &$0) }
                    }
                }
                if case .owner = subject.usage { return }
                write(report, to: &json)
            }
        }
        responder.respond(json: body, fields: [.cacheControl: "no-store"])
    }

    private static func write(_ report: UsageReport, to json: inout JSONWriter) {
        json.array("people") { json in
            for record in report.owners {
                let owner = ConversationKey(parsing: record.name).owner
                json.object { json in
                    json.member("app", owner.app)
                    record.write("person", owner.person, to: &json)
                }
            }
        }
        if report.hasMore, let last = report.owners.last {
            json.member("next", Base64URL.encode(Array(last.name.utf8)))
        }
    }
}

extension UsageRecord {
    /// Appends the members of the record behind its name.
    fileprivate func write(_ member: String, _ name: String?, to json: inout JSONWriter) {
        json.member(member, name)
        json.member("requests", requests)
        json.member("prompt_tokens", promptTokens)
        json.member("answer_tokens", answerTokens)
        json.member("running", running)
        json.member("reserved_tokens", reservedTokens)
    }
}
