/// A check of one document against a schema. It counts its steps, and gives up beyond their limit.
///
/// A step is a keyword of a value, a member, a state of a pattern, or 16 bytes that are compared. Every loop over a size of the schema or of
/// the document spends steps, so that the limit bounds the time.
struct JSONSchemaCheck {
    /// A place that violates a keyword.
    struct Finding {
        let node: Int
        let keyword: String
        let reason: String
    }

    private let schema: JSONSchema
    private let document: JSONDocument
    private var steps: Int
    private var nesting = 0
    /// The last place that did not fit. It is a violation only if the whole does not fit.
    private var finding: Finding?
    /// Why the check gave up. From then on nothing fits, and no result counts.
    private var obstacle: JSONSchemaViolation?

    init(_ schema: JSONSchema, of document: JSONDocument, steps: Int) {
        self.schema = schema
        self.document = document
        self.steps = steps
    }

    /// The violation of the whole document; `nil` if it fits.
    mutating func violation() -> JSONSchemaViolation? {
        let isFit = fits(document.root, schema.root)
        if let obstacle { return obstacle }
        guard !isFit else { return nil }
        guard let finding else { return JSONSchemaViolation("does not fit") }
        return JSONSchemaViolation(
            finding.reason, keyword: finding.keyword,
            pointer: document.pointer(to: finding.node, limit: JSONSchemaViolation.maximumPointer))
    }

    /// Whether a value fits a schema.
    private mutating func fits(_ node: Int, _ number: Int) -> Bool {
        guard obstacle == nil else { return false }
        guard nesting < JSONSchema.maximumNesting else {
            obstacle = JSONSchemaViolation(
                "needs more than \(JSONSchema.maximumNesting) nested schemas, so that it cannot be checked")
            return false
        }
        nesting += 1
        defer { nesting -= 1 }
        for keyword in schema.schemas[number] {
            guard spend(1), fits(node, keyword) else { return false }
        }
        return true
    }

    /// Counts steps; `false` once they are used up.
    private mutating func spend(_ count: Int) -> Bool {
        guard obstacle == nil else { return false }
        steps -= count
        guard steps < 0 else { return true }
        obstacle = .tooManySteps
        return false
    }

    /// The steps of a failure, whose reason is a new text.
    private static let failureSteps = 8

    /// Records a place that does not fit.
    private mutating func fail(_ node: Int, _ keyword: String, _ reason: @autoclosure () -> String) -> Bool {
        guard spend(Self.failureSteps) else { return false }
        finding = Finding(node: node, keyword: keyword, reason: reason())
        return false
    }

    // MARK: - Keywords

    private mutating func fits(_ node: Int, _ keyword: JSONSchema.Keyword) -> Bool {
        switch keyword {
        case .never: return fail(node, "false", "is not allowed")
        case .types(let types): return fits(node, types: types)
        case .values(let forms, let isConstant): return fits(node, values: forms, isConstant)
        case .minimum, .maximum, .multiple: return fits(node, number: keyword)
        case .lengths, .pattern: return fits(node, string: keyword)
        case .elements, .elementCounts, .contains, .uniqueElements: return fits(node, array: keyword)
        case .members, .memberCounts, .required, .requiredWith, .names, .schemaWith:
            return fits(node, object: keyword)
        case .reference(let part): return fits(node, part)
        case .all(let parts): return parts.allSatisfy { fits(node, $0) }
        case .any(let parts): return fits(node, anyOf: parts)
        case .one(let parts): return fits(node, oneOf: parts)
        case .not(let part): return !fits(node, part) ? obstacle == nil : fail(node, "not", "fits the schema of `not`")
        case .condition(let condition, let then, let other):
            let branch = fits(node, condition) ? then : other
            return branch.map { fits(node, $0) } ?? (obstacle == nil)
        }
    }

    private mutating func fits(_ node: Int, types: [JSONType]) -> Bool {
        let kind = document.nodes[node].kind
        guard kind != .number || spend(document.nodes[node].source.count / 16) else { return false }
        let isFit = types.contains { type in
            switch type {
            case .null: kind == .null
            case .boolean: kind == .boolean
            case .object: kind == .object
            case .array: kind == .array
            case .string: kind == .string
            case .number: kind == .number
            case .integer: document.number(of: node)?.isWhole ?? false
            }
        }
        if isFit { return true }
        let wanted = types.map(\.rawValue).joined(separator: " or ")
        return fail(node, "type", "is not of the type \(wanted)")
    }

    private mutating func fits(_ node: Int, values: [[UInt8]], _ isConstant: Bool) -> Bool {
        let form = document.form(of: node)
        guard spend(form.count / 16) else { return false }
        let index = values[...].partition { $0.lexicographicallyPrecedes(form) }
        if index < values.count, values[index][...] == form { return true }
        return isConstant
            ? fail(node, "const", "is not the value of `const`")
            : fail(node, "enum", "is none of the values of `enum`")
    }

    private mutating func fits(_ node: Int, number keyword: JSONSchema.Keyword) -> Bool {
        guard document.nodes[node].kind == .number else { return true }
        guard spend(document.nodes[node].source.count / 8), let number = document.number(of: node) else { return false }
        switch keyword {
        case .minimum(let bound, let isExclusive):
            guard isExclusive ? !(bound < number) : number < bound else { return true }
            return isExclusive
                ? fail(node, "exclusiveMinimum", "is not greater than \(bound)")
                : fail(node, "minimum", "is less than \(bound)")
        case .maximum(let bound, let isExclusive):
            guard isExclusive ? !(number < bound) : bound < number else { return true }
            return isExclusive
                ? fail(node, "exclusiveMaximum", "is not less than \(bound)")
                : fail(node, "maximum", "is greater than \(bound)")
        case .multiple(let divisor):
            return number.isMultiple(of: divisor) || fail(node, "multipleOf", "is not a multiple of \(divisor)")
        default: return true
        }
    }

    private mutating func fits(_ node: Int, string keyword: JSONSchema.Keyword) -> Bool {
        guard document.nodes[node].kind == .string else { return true }
        let text = document.string(of: node)
        switch keyword {
        case .lengths(let least, let most):
            guard spend(text.count / 16) else { return false }
            // Each Unicode scalar has one byte that does not continue another one.
            let count = text.count { $0 & 0xC0 != 0x80 }
            if count < least { return fail(node, "minLength", "has \(count) characters, fewer than \(least)") }
            return count <= most || fail(node, "maxLength", "has \(count) characters, more than \(most)")
        case .pattern(let pattern):
            return find(pattern, in: text) || fail(node, "pattern", "does not match `pattern`")
        default: return true
        }
    }

    /// Whether a pattern is found; `false` if that takes too many steps.
    private mutating func find(_ pattern: JSONPattern, in text: ArraySlice<UInt8>) -> Bool {
        // A search clears a mark for each state first.
        guard spend(1 + pattern.steps.count / 64 + text.count / 16) else { return false }
        var budget = steps
        let isFound = pattern.isFound(in: text, budget: &budget)
        return spend(isFound == nil ? steps + 1 : steps - budget) && isFound == true
    }

    // MARK: - Several schemas

    private mutating func fits(_ node: Int, anyOf parts: [Int]) -> Bool {
        var near: [Finding] = []
        for part in parts {
            if fits(node, part) { return true }
            guard obstacle == nil else { return false }
            // A part for values of another type does not help a reader.
            if let finding, finding.node != node || finding.keyword != "type" { near.append(finding) }
        }
        let isFit = fail(node, "anyOf", "fits none of the \(parts.count) schemas of `anyOf`")
        if near.count == 1, !isFit { finding = near[0] }
        return isFit
    }

    private mutating func fits(_ node: Int, oneOf parts: [Int]) -> Bool {
        var count = 0
        for part in parts where fits(node, part) {
            count += 1
            if count > 1 { return fail(node, "oneOf", "fits more than one of the schemas of `oneOf`") }
        }
        return count == 1 || fail(node, "oneOf", "fits none of the \(parts.count) schemas of `oneOf`")
    }

    // MARK: - Arrays

    private mutating func fits(_ node: Int, array keyword: JSONSchema.Keyword) -> Bool {
        guard document.nodes[node].kind == .array else { return true }
        let elements = document.members(of: node)
        switch keyword {
        case .elements(let prefix, let rest):
            for (element, part) in zip(elements, prefix) {
                guard fits(Int(element.value), part) else { return false }
            }
            guard let rest else { return true }
            return elements.dropFirst(prefix.count).allSatisfy { fits(Int($0.value), rest) }
        case .elementCounts(let least, let most):
            if elements.count < least {
                return fail(node, "minItems", "has \(elements.count) elements, fewer than \(least)")
            }
            return elements.count <= most
                || fail(node, "maxItems", "has \(elements.count) elements, more than \(most)")
        case .contains(let part, let least, let most):
            let count = elements.count { fits(Int($0.value), part) }
            guard obstacle == nil else { return false }
            if count < least {
                return fail(node, "contains", "has \(count) elements of the form of `contains`, fewer than \(least)")
            }
            return count <= most
                || fail(node, "maxContains", "has \(count) elements of the form of `contains`, more than \(most)")
        case .uniqueElements: return hasUniqueElements(node)
        default: return true
        }
    }

    /// Equal elements are neighbours when they are sorted by their forms.
    private mutating func hasUniqueElements(_ node: Int) -> Bool {
        let elements = document.members(of: node)
        let size = elements.count + document.form(of: node).count / 16
        guard spend(size * (Int.bitWidth - elements.count.leadingZeroBitCount)) else { return false }
        let sorted = elements.sorted {
            document.form(of: Int($0.value)).lexicographicallyPrecedes(document.form(of: Int($1.value)))
        }
        for (one, next) in zip(sorted, sorted.dropFirst())
        where document.form(of: Int(one.value)) == document.form(of: Int(next.value)) {
            return fail(max(Int(one.value), Int(next.value)), "uniqueItems", "equals another element")
        }
        return true
    }

    // MARK: - Objects

    private mutating func fits(_ node: Int, object keyword: JSONSchema.Keyword) -> Bool {
        guard document.nodes[node].kind == .object else { return true }
        let members = document.members(of: node)
        switch keyword {
        case .members(let schemas): return members.allSatisfy { fits($0, of: node, schemas) }
        case .memberCounts(let least, let most):
            if members.count < least {
                return fail(node, "minProperties", "has \(members.count) members, fewer than \(least)")
            }
            return members.count <= most
                || fail(node, "maxProperties", "has \(members.count) members, more than \(most)")
        case .required(let names): return has(names, node, "required")
        case .requiredWith(let requirements):
            return requirements.allSatisfy { requirement in
                spendName(requirement.name)
                    && (document.member(requirement.name[...], of: node) == nil
                        || has(requirement.others, node, "dependentRequired"))
            }
        case .schemaWith(let schemas):
            return schemas.allSatisfy { named in
                spendName(named.name)
                    && (document.member(named.name[...], of: node) == nil || fits(node, named.schema))
            }
        case .names(let part): return members.allSatisfy { fitsName($0, of: node, part) }
        default: return true
        }
    }

    private mutating func has(_ names: [[UInt8]], _ node: Int, _ keyword: String) -> Bool {
        for name in names {
            guard spendName(name) else { return false }
            guard document.member(name[...], of: node) == nil else { continue }
            let text = String(decoding: name.prefix(JSONSchemaViolation.maximumPointer), as: UTF8.self)
            return fail(node, keyword, "lacks the member \"\(text)\"")
        }
        return true
    }

    /// Counts the steps of a search for a name, which may compare it with a dozen others.
    private mutating func spendName(_ name: some Collection<UInt8>) -> Bool { spend(1 + name.count / 8) }

    private mutating func fits(_ member: JSONDocument.Member, of node: Int, _ schemas: JSONSchema.Members) -> Bool {
        let name = document.name(of: member)
        guard spendName(name) else { return false }
        var isKnown = false
        let index = schemas.named[...].partition { $0.name.lexicographicallyPrecedes(name) }
        if index < schemas.named.count, schemas.named[index].name[...] == name {
            isKnown = true
            guard fits(Int(member.value), schemas.named[index].schema) else { return false }
        }
        for (pattern, schema) in schemas.patterns where find(pattern, in: name) {
            isKnown = true
            guard fits(Int(member.value), schema) else { return false }
        }
        guard obstacle == nil else { return false }
        guard !isKnown, let rest = schemas.rest, !fits(Int(member.value), rest) else { return true }
        guard case .never? = self.schema.schemas[rest].first else { return false }
        return fail(Int(member.value), "additionalProperties", "is not allowed: the schema has no member of this name")
    }

    /// Whether the name of a member, as a string, fits a schema.
    private mutating func fitsName(_ member: JSONDocument.Member, of node: Int, _ part: Int) -> Bool {
        guard spendName(document.name(of: member)), spend(Self.failureSteps) else { return false }
        var json = ByteBuffer()
        json.append(jsonString: Array(document.name(of: member)).readable)
        guard let name = try? JSONDocument(json.array, maximumValues: 1) else { return true }
        var check = JSONSchemaCheck(schema, of: name, steps: steps)
        check.nesting = nesting
        let isFit = check.fits(name.root, part)
        steps = check.steps
        obstacle = obstacle ?? check.obstacle
        return isFit || fail(Int(member.value), "propertyNames", "has a name that does not fit `propertyNames`")
    }
}

extension JSONDecimal: CustomStringConvertible {
    /// The number of digits from which on a description has the first ones only.
    private static let describedDigits = 40

    /// The number in digits; with an exponent if it is very large or small, and cut if it is very long.
    var description: String {
        guard digits.count <= Self.describedDigits else {
            let first = digits.prefix(Self.describedDigits).map { String($0) }.joined()
            return "\(isNegative ? "-" : "")\(first)…e\(exponent + digits.count - Self.describedDigits)"
        }
        let text = digits.map { String($0) }.joined()
        let sign = isNegative ? "-" : ""
        switch exponent {
        case _ where digits.isEmpty: return "0"
        case 0...20: return sign + text + String(repeating: "0", count: exponent)
        case (-digits.count + 1)..<0:
            return sign + text.prefix(digits.count + exponent) + "." + text.suffix(-exponent)
        case -20..<0: return sign + "0." + String(repeating: "0", count: -exponent - digits.count) + text
        default: return "\(sign)\(text)e\(exponent)"
        }
    }
}
