/// Reads the keywords of all schemas in a schema. The time is linear in the text, but for the sorting of names.
///
/// A keyword that has another form than in 2020-12, or that the check lacks, is left out and recorded. So that no check reports a violation
/// because of a keyword that is left out, `not`, `oneOf`, `if` and `maxContains` are left out too if they depend on one.
struct JSONSchemaReader {
    typealias Keyword = JSONSchema.Keyword

    /// A schema.
    struct Entry {
        let node: Int
        var keywords: [Keyword] = []
        /// Whether a keyword of it, or of a schema that it depends on, is left out.
        var isPartial = false
    }

    let document: JSONDocument
    var schemas: [Entry] = []
    /// The numbers of schemas by their nodes; -1 for a node that is none.
    private var numbers: [Int32]
    private var unchecked: [(node: Int, keyword: String)] = []
    private var uncheckedCount = 0
    /// The steps that patterns may still have.
    private var patternSteps = JSONSchema.maximumPatternSteps
    /// Whether a schema within the schema has an `$id`, so that references have other bases.
    var hasOtherBases = false

    init(_ text: [UInt8]) throws(JSONSchemaError) {
        guard text.count <= JSONSchema.maximumBytes else {
            throw JSONSchemaError("is longer than \(JSONSchema.maximumBytes) bytes")
        }
        do throws(JSONDocument.Problem) {
            document = try JSONDocument(text, maximumValues: JSONSchema.maximumValues)
        } catch {
            throw JSONSchemaError(error.reason)
        }
        guard Self.isSchema(document.nodes[document.root]) else { throw JSONSchemaError("is not an object") }
        numbers = Array(repeating: -1, count: document.nodes.count)
    }

    /// The pointers of keywords that are left out.
    var uncheckedPointers: [String] {
        let pointers = unchecked.map { "\(document.pointer(to: $0.node))/\($0.keyword)" }
        return uncheckedCount > unchecked.count ? pointers + ["…"] : pointers
    }

    /// Reads all schemas.
    mutating func read() {
        _ = number(of: document.root)
        var next = 0
        // Reading a schema adds those that it names.
        while next < schemas.count {
            readSchema(next)
            next += 1
        }
        if hasOtherBases { leaveOutReferences { _ in true } }
        leaveOutCircles()
        findPartialSchemas()
        for number in schemas.indices where schemas[number].isPartial { weaken(number) }
    }

    private static func isSchema(_ node: JSONDocument.Node) -> Bool { node.kind == .object || node.kind == .boolean }

    /// The number of the schema at a node.
    private mutating func number(of node: Int) -> Int {
        if numbers[node] < 0 {
            numbers[node] = Int32(schemas.count)
            schemas.append(Entry(node: node))
        }
        return Int(numbers[node])
    }

    mutating func leaveOut(_ keyword: String, of number: Int) {
        schemas[number].isPartial = true
        uncheckedCount += 1
        if unchecked.count < JSONSchema.maximumUnchecked { unchecked.append((schemas[number].node, keyword)) }
    }

    // MARK: - Keywords

    private mutating func readSchema(_ number: Int) {
        let node = schemas[number].node
        if document.nodes[node].kind == .boolean {
            if document.boolean(of: node) == false { schemas[number].keywords = [.never] }
            return
        }
        for member in document.members(of: node) {
            let name = document.name(of: member)
            guard name.count <= 32 else { continue }
            let keyword = String(decoding: name, as: UTF8.self)
            let value = Int(member.value)
            guard let found = read(keyword, value, of: node) else {
                leaveOut(keyword, of: number)
                continue
            }
            schemas[number].keywords += found
        }
        readMembers(of: number)
        readElements(of: number)
        readCondition(of: number)
    }

    /// Reads a keyword that depends on no other one; `nil` if it cannot be checked.
    private mutating func read(_ keyword: String, _ value: Int, of node: Int) -> [Keyword]? {
        switch keyword {
        case "type": return types(value).map { [.types($0)] }
        case "enum":
            guard document.nodes[value].kind == .array else { return nil }
            let forms = document.members(of: value).map { Array(document.form(of: Int($0.value))) }
            return [.values(forms.sorted { $0.lexicographicallyPrecedes($1) }, isConstant: false)]
        case "const": return [.values([Array(document.form(of: value))], isConstant: true)]
        case "minimum": return document.number(of: value).map { [.minimum($0, isExclusive: false)] }
        case "maximum": return document.number(of: value).map { [.maximum($0, isExclusive: false)] }
        case "exclusiveMinimum": return document.number(of: value).map { [.minimum($0, isExclusive: true)] }
        case "exclusiveMaximum": return document.number(of: value).map { [.maximum($0, isExclusive: true)] }
        case "multipleOf":
            guard let divisor = document.number(of: value), !divisor.isNegative,
                1...JSONDecimal.longestDivisor ~= divisor.digits.count
            else { return nil }
            return [.multiple(divisor)]
        case "minLength": return document.count(of: value).map { [.lengths(least: $0, most: .max)] }
        case "maxLength": return document.count(of: value).map { [.lengths(least: 0, most: $0)] }
        case "minItems": return document.count(of: value).map { [.elementCounts(least: $0, most: .max)] }
        case "maxItems": return document.count(of: value).map { [.elementCounts(least: 0, most: $0)] }
        case "minProperties": return document.count(of: value).map { [.memberCounts(least: $0, most: .max)] }
        case "maxProperties": return document.count(of: value).map { [.memberCounts(least: 0, most: $0)] }
        case "pattern":
            guard document.nodes[value].kind == .string else { return nil }
            return pattern(document.string(of: value)).map { [.pattern($0)] }
        case "uniqueItems": return document.boolean(of: value).map { $0 ? [.uniqueElements] : [] }
        case "required": return names(value).map { [.required($0)] }
        case "dependentRequired": return requirements(value).map { [.requiredWith($0)] }
        case "dependentSchemas": return namedSchemas(value).map { [.schemaWith($0)] }
        case "propertyNames": return schema(value).map { [.names($0)] }
        case "contains": return contains(value, of: node)
        case "allOf": return schemas(value).map { [.all($0)] }
        case "anyOf": return schemas(value).map { [.any($0)] }
        case "oneOf": return schemas(value).map { [.one($0)] }
        case "not": return schema(value).map { [.not($0)] }
        case "$ref": return reference(value).map { [.reference($0)] }
        case "$id":
            if node != document.root { hasOtherBases = true }
            return []
        // Keywords of 2020-12 and of older drafts that restrict values, and are not checked.
        case "$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems", "additionalItems",
            "dependencies", "divisibleBy", "disallow", "extends":
            return nil
        default: return []
        }
    }

    /// Reads a pattern, unless those of the schema have too many steps with it.
    private mutating func pattern(_ text: ArraySlice<UInt8>) -> JSONPattern? {
        guard let pattern = JSONPattern(text, maximumSteps: min(patternSteps, JSONPattern.maximumSteps)) else {
            return nil
        }
        patternSteps -= pattern.steps.count
        return pattern
    }

    private func types(_ value: Int) -> [JSONType]? {
        if document.nodes[value].kind == .string { return type(value).map { [$0] } }
        guard document.nodes[value].kind == .array else { return nil }
        let types = document.members(of: value).map { type(Int($0.value)) }
        let known = types.compactMap(\.self)
        return known.count == types.count && known.count <= JSONType.allCases.count ? known : nil
    }

    private func type(_ value: Int) -> JSONType? {
        let name = document.string(of: value)
        return name.count <= 8 ? JSONType(word: String(decoding: name, as: UTF8.self)) : nil
    }

    private func names(_ value: Int) -> [[UInt8]]? {
        guard document.nodes[value].kind == .array else { return nil }
        let elements = document.members(of: value)
        guard elements.allSatisfy({ document.nodes[Int($0.value)].kind == .string }) else { return nil }
        return elements.map { Array(document.string(of: Int($0.value))) }
    }

    private func requirements(_ value: Int) -> [(name: [UInt8], others: [[UInt8]])]? {
        guard document.nodes[value].kind == .object else { return nil }
        var all: [(name: [UInt8], others: [[UInt8]])] = []
        for member in document.members(of: value) {
            guard let others = names(Int(member.value)) else { return nil }
            all.append((Array(document.name(of: member)), others))
        }
        return all
    }

    mutating func schema(_ value: Int) -> Int? {
        Self.isSchema(document.nodes[value]) ? number(of: value) : nil
    }

    private mutating func schemas(_ value: Int) -> [Int]? {
        guard document.nodes[value].kind == .array, !document.members(of: value).isEmpty else { return nil }
        var all: [Int] = []
        for element in document.members(of: value) {
            guard let number = schema(Int(element.value)) else { return nil }
            all.append(number)
        }
        return all
    }

    private mutating func namedSchemas(_ value: Int) -> [(name: [UInt8], schema: Int)]? {
        guard document.nodes[value].kind == .object else { return nil }
        var all: [(name: [UInt8], schema: Int)] = []
        for member in document.members(of: value) {
            guard let number = schema(Int(member.value)) else { return nil }
            all.append((Array(document.name(of: member)), number))
        }
        return all
    }

    private mutating func contains(_ value: Int, of node: Int) -> [Keyword]? {
        var (least, most) = (1, Int.max)
        if let bound = document.member("minContains", of: node) {
            guard let count = document.count(of: bound) else { return nil }
            least = count
        }
        if let bound = document.member("maxContains", of: node) {
            guard let count = document.count(of: bound) else { return nil }
            most = count
        }
        return schema(value).map { [.contains($0, least: least, most: most)] }
    }

    // MARK: - Keywords that depend on each other

    private mutating func readMembers(of number: Int) {
        let node = schemas[number].node
        var members = JSONSchema.Members()
        var isComplete = true
        if let value = document.member("properties", of: node) {
            if let named = namedSchemas(value) {
                members.named = named
            } else {
                isComplete = false
                leaveOut("properties", of: number)
            }
        }
        if let value = document.member("patternProperties", of: node) {
            let schemas = namedSchemas(value) ?? []
            members.patterns = schemas.compactMap { named in
                pattern(named.name[...]).map { (pattern: $0, schema: named.schema) }
            }
            if document.nodes[value].kind != .object || members.patterns.count < document.members(of: value).count {
                isComplete = false
                leaveOut("patternProperties", of: number)
            }
        }
        if let value = document.member("additionalProperties", of: node) {
            members.rest = isComplete ? schema(value) : nil
            if members.rest == nil { leaveOut("additionalProperties", of: number) }
        }
        if !members.named.isEmpty || !members.patterns.isEmpty || members.rest != nil {
            schemas[number].keywords.append(.members(members))
        }
    }

    private mutating func readElements(of number: Int) {
        let node = schemas[number].node
        var prefix: [Int]? = []
        if let value = document.member("prefixItems", of: node) {
            prefix = schemas(value)
            if prefix == nil { leaveOut("prefixItems", of: number) }
        }
        var rest: Int?
        if let value = document.member("items", of: node) {
            rest = prefix == nil ? nil : schema(value)
            if rest == nil { leaveOut("items", of: number) }
        }
        if let prefix, !prefix.isEmpty || rest != nil {
            schemas[number].keywords.append(.elements(prefix: prefix, rest: rest))
        }
    }

    private mutating func readCondition(of number: Int) {
        let node = schemas[number].node
        guard let condition = document.member("if", of: node) else { return }
        let (then, other) = (document.member("then", of: node), document.member("else", of: node))
        guard [condition, then, other].compactMap(\.self).allSatisfy({ Self.isSchema(document.nodes[$0]) }) else {
            return leaveOut("if", of: number)
        }
        guard then != nil || other != nil else { return }
        schemas[number].keywords.append(
            .condition(
                if: self.number(of: condition), then: then.map { self.number(of: $0) },
                else: other.map { self.number(of: $0) }))
    }
}
