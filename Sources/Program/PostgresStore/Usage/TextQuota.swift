import ChatterdBasics
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets

/// Limits the stored text of each app and of each person. Safe on any thread.
///
/// No request waits for it and no row counts for it: each process adds up what it stores, and asks the database for the true size when that could
/// matter, in the background. So several processes may exceed a limit by some percent before they notice.
public final class TextQuota: Sendable {
    /// The sizes of what may be stored, in bytes; 0 for no limit.
    public struct Limits: Sendable {
        /// All conversations of an app and of its people.
        public var app: Int
        /// All conversations of a person.
        public var person: Int

        public init(app: Int = 0, person: Int = 0) {
            (self.app, self.person) = (app, person)
        }
    }

    /// Whose text counts.
    private enum Subject: Hashable {
        /// An app with its people.
        case app(ExactText)
        case person(Owner)

        var isApp: Bool { if case .app = self { true } else { false } }

        /// The beginning of the texts by which lists know the owners.
        var prefix: String {
            switch self {
            // The prefix of an app is that of its people too.
            case .app(let app): String(Owner(app: app.text).keyPrefix.unicodeScalars.dropLast())
            case .person(let owner): owner.keyPrefix
            }
        }
    }

    private struct Use {
        /// The size at the last measurement; `nil` before the first one.
        var measured: Int?
        /// What this process has stored since.
        var added = 0
        /// What the answers since may have added.
        var answers = 0
        var isMeasuring = false
        var measuredAt: Instant?

        /// Whether a text does not exceed a limit.
        func hasRoom(for bytes: Int, limit: Int) -> Bool { (measured ?? 0) + added + bytes <= limit }

        /// Records a measurement that began with the use `before`; `nil` if it has failed.
        mutating func measured(_ size: Int?, since before: Use) {
            isMeasuring = false
            guard let size else { return }
            measured = size
            // What came meanwhile may be in the size: it counts again at the next measurement, and refuses nothing until then.
            answers = max(0, answers - before.answers) + max(0, added - before.added)
            added = 0
        }
    }

    /// The size that an answer counts until it is measured, in bytes.
    private static let answerSize = 16 << 10
    /// The part of a limit that a process stores for a subject between two measurements.
    private static let partOfLimit = 64
    /// The limit of a measured size, in bytes. A sum with it does not overflow.
    private static let largestSize = 1 << 60
    /// The time between two measurements of a subject.
    private static let interval = Duration.seconds(10)
    /// The limit of apps that a process counts, and of people. Then it forgets all of these.
    private static let subjectLimit = 10_000

    private let limits: Limits
    private let pool: PostgresPool
    private let clock: @Sendable () -> Instant
    private let uses = Lock<[Subject: Use]>([:])

    /// Creates the quotas.
    ///
    /// - Parameter pool: measures; its statements may take long.
    public init(_ limits: Limits, pool: PostgresPool, clock: @escaping @Sendable () -> Instant = Shard.readClock) {
        self.limits = limits
        self.pool = pool
        self.clock = clock
    }

    /// Admits a text of an owner, and counts it. Call `stored` when the database has it.
    ///
    /// - Parameter answers: the number of answers that follow it.
    /// - Throws: `textFull` if the owner or its app has reached the limit.
    func admit(_ bytes: Int, of owner: Owner, answers: Int = 0) throws(RelayError) {
        let subjects = subjects(of: owner)
        let full = uses.withLock { uses in
            for (subject, limit) in subjects {
                guard Self.change(subject, in: &uses, { $0.hasRoom(for: bytes, limit: limit) }) else {
                    return (subject, limit) as (Subject, limit: Int)?
                }
            }
            for (subject, _) in subjects {
                Self.change(subject, in: &uses) { use in
                    use.added += bytes
                    use.answers += answers * Self.answerSize
                }
            }
            return nil
        }
        guard let (subject, limit) = full else { return }
        changeAndMeasure(subject) { _ in true }
        throw Self.refusal(isApp: subject.isApp, limit: limit)
    }

    /// Records that what was admitted is stored.
    ///
    /// - Parameter bytes: the size of a copy, which is known afterwards.
    func stored(_ bytes: Int = 0, of owner: Owner) {
        for (subject, limit) in subjects(of: owner) {
            changeAndMeasure(subject) { use in
                use.added += bytes
                return use.added + use.answers >= limit / Self.partOfLimit
            }
        }
    }

    private func subjects(of owner: Owner) -> [(Subject, limit: Int)] {
        var subjects: [(Subject, limit: Int)] = []
        if limits.app > 0 {
            subjects.append((.app(ExactText(owner.app)), limits.app))
        }
        if limits.person > 0, owner.person != nil {
            subjects.append((.person(owner), limits.person))
        }
        return subjects
    }

    @discardableResult
    private func change<Result>(_ subject: Subject, _ body: (inout Use) -> Result) -> Result {
        uses.withLock { Self.change(subject, in: &$0, body) }
    }

    @discardableResult
    private static func change<Result>(
        _ subject: Subject, in uses: inout [Subject: Use], _ body: (inout Use) -> Result
    ) -> Result {
        if uses.count >= subjectLimit, uses[subject] == nil {
            // Many people do not make the process forget their app, nor many apps the people.
            uses = uses.filter { $0.key.isApp != subject.isApp }
        }
        return body(&uses[subject, default: Use()])
    }

    /// Changes the use of a subject, and measures it in the background if that is required and it was not measured just now.
    ///
    /// - Parameter change: returns whether a measurement is required.
    private func changeAndMeasure(_ subject: Subject, _ change: (inout Use) -> Bool) {
        let now = clock()
        let before: Use? = self.change(subject) { use in
            let isDue = use.measuredAt.map { now - $0 >= Self.interval } ?? true
            let isRequired = change(&use)
            guard !use.isMeasuring, isDue, isRequired else { return nil }
            (use.isMeasuring, use.measuredAt) = (true, now)
            return use
        }
        guard let before else { return }
        Task(executorPreference: pool.shard) { [self] in await measure(subject, since: before) }
    }

    /// Measures an owner and its app, while nothing else is stored for them.
    func measure(_ owner: Owner) async {
        let now = clock()
        for (subject, _) in subjects(of: owner) {
            await measure(
                subject,
                since: change(subject) { use in
                    use.measuredAt = now
                    return use
                })
        }
    }

    private func measure(_ subject: Subject, since before: Use) async {
        let size = await size(of: subject)
        change(subject) { $0.measured(size, since: before) }
    }

    /// The stored size of the text of a subject; `nil` if the database does not say it. The pool has logged the reason.
    private func size(of subject: Subject) async -> Int? {
        let query = Query(
            subject.isApp ? Self.sizeOfApp : Self.sizeOfPerson, .text(subject.prefix))
        do throws(PostgresError) {
            return try await pool.run(query).first.map { max(0, min($0, Self.largestSize)) }
        } catch {
            return nil
        }
    }

    private static func refusal(isApp: Bool, limit: Int) -> RelayError {
        let (whose, setting) =
            isApp ? ("this app", "CHATTERD_TEXT_LIMIT") : ("this person", "CHATTERD_PERSON_TEXT_LIMIT")
        return RelayError(
            .textFull,
            "The conversations of \(whose) have reached their limit (\(setting), \(limit) bytes). Delete conversations, and try again a "
                + "few seconds later.")
    }

    /// The size of the conversation `v`, from its last row.
    private static let sizeOfConversation = """
        (SELECT coalesce(c.total, 0) + octet_length(c.message) + coalesce(octet_length(c.thinking), 0)
        FROM chatts c WHERE c.appid = v.appid ORDER BY c.seq DESC LIMIT 1)
        """

    private static let sizeOfApp = Statement(
        "text_of_app", .text, returnsBinary: true,
        sql: """
            SELECT coalesce(sum(\(sizeOfConversation)), 0)::bigint FROM chatterd_conversations v
            WHERE starts_with(v.owner, $1)
            """
    ) { row in
        row.nextInt()
    }

    // The lists know stateless conversations and single requests by other texts.
    private static let sizeOfPerson = Statement(
        "text_of_person", .text, returnsBinary: true,
        sql: """
            SELECT coalesce(sum(\(sizeOfConversation)), 0)::bigint FROM chatterd_conversations v
            WHERE v.owner IN ($1, $1 || E'\\x1D', $1 || E'\\x1E')
            """
    ) { row in
        row.nextInt()
    }
}
