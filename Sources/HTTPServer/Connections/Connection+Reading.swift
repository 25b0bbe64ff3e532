import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

extension Connection {
    /// Uses what was read, and keeps the rest.
    func read(_ bytes: Span<UInt8>) {
        if backlog != nil {
            hold(bytes)
            useBacklog()
        } else {
            let used = use(bytes)
            if used < bytes.count {
                hold(bytes.extracting(used...))
            }
        }
    }

    /// Keeps what was read for later.
    func hold(_ bytes: Span<UInt8>) {
        var kept = backlog.take() ?? group.shard.takeBuffer()
        kept.append(bytes)
        backlog = consume kept
    }

    private func useBacklog() {
        guard var kept = backlog.take() else { return }
        kept.removeFirst(use(kept.bytes))
        if kept.isEmpty {
            group.shard.giveBack(kept)
        } else {
            backlog = consume kept
        }
    }

    /// The response before is out of the way: looks at what was kept, and reads on when that is used up.
    func readBacklog() {
        guard !isReading else { return }
        useBacklog()
        guard state.phase.awaitsInput else { return }
        if state.inputHasEnded {
            perform(state.inputEnded(at: now))
        } else {
            tcp?.resumeReading()
        }
    }

    /// Parses as far as the bytes and the state go, and returns how many bytes are used.
    private func use(_ bytes: Span<UInt8>) -> Int {
        isReading = true
        defer { isReading = false }
        var index = 0
        while true {
            switch state.phase {
            case .idle, .head:
                guard index < bytes.count else { return index }
                _ = state.received(0, at: now)
                guard readHead(bytes, from: &index) else { return index }
            case .body:
                guard readBody(bytes, from: &index) else { return index }
            case .responding, .draining:
                return index
            case .ending, .lingering, .closed:
                return bytes.count
            }
        }
    }

    /// Returns whether there is more to do; the head stays unused until it is complete.
    private func readHead(_ bytes: Span<UInt8>, from index: inout Int) -> Bool {
        if parser == nil {
            arrival = now
        }
        var parser = parser.take() ?? RequestHeadParser(limits: group.limits.head)
        do {
            guard let head = try parser.parse(bytes.extracting(index...)) else {
                self.parser = parser
                return false
            }
            index += parser.consumed
            index += try begin(head, length: parser.consumed, bytesHere: bytes.count - index)
        } catch {
            refuse(Refusal(error), method: parser.method(in: bytes.extracting(index...)))
        }
        return true
    }

    /// Begins a request; `bytesHere` is the number of bytes that came behind its head.
    ///
    /// - Returns: how many of them were a body that is not needed.
    private func begin(_ head: RequestHead, length: Int, bytesHere: Int) throws(HTTPError) -> Int {
        let sent = head.fields[.xRequestID]
        let id = sent.flatMap { RequestID.isSane($0) ? $0 : nil } ?? group.ids.next()
        let responder = Responder(
            id: id, method: head.method, version: head.version, arrival: arrival, connection: self)
        responder.record.bytesIn = length
        begin(responder)

        let match = group.router.match(head.method, head.target)
        responder.setRoute(match)
        let framing = try BodyFraming.ofRequest(head)
        let expectsContinue = try head.expectsContinue()
        let refusal = refusalAtHead(head, match, hasBody: framing != .none && framing != .length(0), to: responder)
        guard match.isHandler, refusal == nil else {
            let skipped = passOver(framing, of: head, bytesHere: bytesHere)
            responder.record.bytesIn += skipped
            if let refusal {
                responder.refuse(refusal)
            } else {
                dispatch(head, body: RequestBody(), match: match, to: responder)
            }
            return skipped
        }
        let decoder = try BodyDecoder(framing: framing, limits: group.limits.body)
        let action = state.headCompleted(
            wantsPersistence: head.wantsPersistence, hasBody: !decoder.isComplete, expectsContinue: expectsContinue,
            isBodyHere: bytesHere > 0, at: now)
        if action == .dispatch {
            dispatch(head, body: RequestBody(), match: match, to: responder)
        } else {
            incoming = IncomingRequest(head: head, match: match, responder: responder, decoder: decoder)
            perform(action)
        }
        return 0
    }

    /// The refusal of a request by its head. Also sets the origin that may read the response.
    private func refusalAtHead(
        _ head: RequestHead, _ match: Router.Match, hasBody: Bool, to responder: Responder
    ) -> Refusal? {
        if match.pattern.map({ group.policy.openRoutes.contains($0) }) != true {
            switch group.policy.verdict(on: head, isSecure: port.isSecure) {
            case .served: break
            case .shared(let origin): responder.sharedWith = origin
            case .refused(let refusal): return refusal
            }
        }
        guard case .handler(_, let check, _, _) = match else { return nil }
        if hasBody, let refusal = BrowserPolicy.refusalOfBody(head) { return refusal }
        return check?(head)
    }

    /// Prepares for a response that the body makes no difference to: it is not waited for, and the connection ends after the
    /// response unless the whole body is here.
    ///
    /// With `Expect: 100-continue` the client does not send it then (RFC 9110 10.1.1).
    ///
    /// - Returns: the bytes of the body, if all of them are here.
    private func passOver(_ framing: BodyFraming, of head: RequestHead, bytesHere: Int) -> Int {
        let length: Int
        switch framing {
        case .none: length = 0
        case .length(let stated) where stated <= bytesHere: length = stated
        case .length, .chunked, .untilClose:
            state.refused()
            return 0
        }
        _ = state.headCompleted(
            wantsPersistence: head.wantsPersistence, hasBody: false, expectsContinue: false, isBodyHere: true, at: now)
        return length
    }

    /// Returns whether there is more to do.
    private func readBody(_ bytes: Span<UInt8>, from index: inout Int) -> Bool {
        guard let incoming else { return false }
        let before = index
        defer { incoming.responder.record.bytesIn += index - before }
        while true {
            do {
                switch try incoming.decoder.next(bytes, from: &index) {
                case .data(let range):
                    guard incoming.body.append(bytes.extracting(range), in: group.memory) else {
                        refuse(.noRoom(group.memory))
                        return true
                    }
                case .more:
                    return false
                case .end:
                    self.incoming = nil
                    _ = state.requestCompleted()
                    dispatch(incoming.head, body: incoming.body, match: incoming.match, to: incoming.responder)
                    return true
                }
            } catch {
                refuse(Refusal(error))
                return true
            }
        }
    }

    private func dispatch(_ head: RequestHead, body: RequestBody, match: Router.Match, to responder: Responder) {
        guard let tcp else { return }
        switch match {
        case .handler(let handler, _, _, let parameter):
            tcp.pauseReading()
            let request = Request(
                head: head, body: body, parameter: parameter, id: responder.id, peer: tcp.peer, shard: group.shard,
                arrival: responder.arrival)
            Task(executorPreference: group.shard) {
                await handler(request, responder)
                responder.handlerReturned()
            }
        case .options(let allow, _):
            let isPreflight = responder.sharedWith != nil && head.fields.contains(.accessControlRequestMethod)
            var fields = isPreflight ? BrowserPolicy.preflight(methods: allow) : [:]
            if let allow = FieldValue(validating: allow) { fields.set(.allow, allow) }
            responder.respond(.noContent, fields: fields)
        case .wrongMethod(let allow, _):
            responder.refuse(.methodNotAllowed(allow))
        case .nothing:
            responder.refuse(.notFound(suggestion: group.router.nearestPattern(to: head.target.path)))
        }
    }

    /// Answers what cannot be read any further, and ends the connection; `method` is that of a head that could not be read.
    func refuse(_ refusal: Refusal, method: Method? = nil) {
        incoming = nil
        state.refused()
        let responder =
            exchange
            ?? Responder(
                id: group.ids.next(), method: method ?? methodOfPartialHead, version: .http11, arrival: arrival,
                connection: self)
        begin(responder)
        responder.refuse(refusal)
    }

    /// The method of the head that `backlog` holds a part of, once it is known.
    private var methodOfPartialHead: Method? {
        guard let parser, let backlog else { return nil }
        return parser.method(in: backlog.bytes)
    }
}
