extension DeclarationReader {
    /// Reads `let a: Int, b: String`, from `let` on.
    mutating func readProperty(_ lead: Lead) {
        let guides = lead.attributes.filter { $0.isMacro("Guide") }
        let guide = guides.first
        if guides.count > 1 {
            declaration.faults.append(
                fault("a property has one @Guide; put all conditions into it", at: guides[1].index))
        }
        index += 1
        var names: [Int] = []
        while index < source.tokens.count {
            if source[index] == "(" {
                declaration.faults.append(
                    fault("@Generable cannot read a tuple of properties; declare each one by itself", at: index))
                index = source.end(ofBracketAt: index)
            } else {
                names.append(index)
                index += 1
            }
            var type: TypeSyntax?
            if source[index] == ":" {
                let end = endOfType(from: index + 1)
                type = TypeSyntax(source, index + 1..<end)
                index = end
            }
            var hasValue = false
            if source[index] == "=" {
                hasValue = true
                index = endOfExpression(from: index + 1)
            }
            let isComputed = skipAccessors()
            if let type {
                let isGenerated = !lead.isStatic && !hasValue && !isComputed
                names.forEach { add($0, type, isGenerated: isGenerated, guide: guide) }
            } else if hasValue, let guide {
                addFaultOfUselessGuide(guide)
            }
            if type != nil || hasValue { names = [] }
            guard source[index] == "," else { return }
            index += 1
        }
    }

    /// Skips the block of a property.
    ///
    /// - Returns: whether the property is computed.
    private mutating func skipAccessors() -> Bool {
        guard source[index] == "{" else { return false }
        var inside = index + 1
        _ = Lead(source, &inside)
        let isObserved = ["willSet", "didSet"].contains(source[inside])
        index = source.end(ofBracketAt: index)
        return !isObserved
    }

    private mutating func add(_ name: Int, _ type: TypeSyntax, isGenerated: Bool, guide: Attribute?) {
        guard isGenerated, declaration.kind == .structure else {
            if let guide { addFaultOfUselessGuide(guide) }
            return
        }
        checkType(type, at: name)
        declaration.properties.append(TypeDeclaration.Property(name: source[name], type: type, guide: guide))
    }

    private mutating func addFaultOfUselessGuide(_ guide: Attribute) {
        declaration.faults.append(
            fault(
                "@Guide is for stored properties without an initial value; a model does not generate this one",
                at: guide.index))
    }

    private mutating func checkType(_ type: TypeSyntax, at index: Int) {
        if let reason = type.unsupported {
            declaration.faults.append(fault("a model cannot generate “\(type.text)”: it is \(reason)", at: index))
        } else if type.words.contains(declaration.name) {
            declaration.faults.append(
                fault(
                    "a model cannot generate “\(type.text)” here: a type that contains itself has no finite form",
                    at: index))
        }
    }

    /// Reads `case a, b(Int), c = "x"`, from `case` on.
    mutating func readCases(_ lead: Lead) {
        if let guide = lead.attributes.first(where: { $0.isMacro("Guide") }) {
            declaration.faults.append(fault("@Guide is for properties of structures, not for cases", at: guide.index))
        }
        repeat {
            index += 1
            let name = index
            index += 1
            var parameters: [TypeDeclaration.Case.Parameter] = []
            if source[index] == "(" {
                let end = source.end(ofBracketAt: index)
                for element in source.elements(of: index + 1..<end - 1) {
                    parameters.append(parameter(element))
                }
                checkLabels(parameters, at: index)
                index = end
            }
            var rawValue: String?
            if source[index] == "=" {
                let end = endOfExpression(from: index + 1)
                rawValue = source[index + 1..<end]
                index = end
            }
            declaration.cases.append(
                TypeDeclaration.Case(name: source[name], parameters: parameters, rawValue: rawValue, index: name))
        } while source[index] == ","
    }

    /// Reads `label: Type = value`.
    private mutating func parameter(_ range: Range<Int>) -> TypeDeclaration.Case.Parameter {
        var start = range.lowerBound
        var label: String?
        while start + 1 < range.upperBound, source.tokens[start].kind == .word, source.tokens[start + 1].kind == .word {
            start += 1
        }
        if start + 1 < range.upperBound, source[start + 1] == ":" {
            label = source[range.lowerBound] == "_" ? nil : source[range.lowerBound]
            start += 2
        } else {
            start = range.lowerBound
        }
        let type = TypeSyntax(source, start..<endOfType(from: start))
        checkType(type, at: start)
        return TypeDeclaration.Case.Parameter(label: label, type: type)
    }

    private mutating func checkLabels(_ parameters: [TypeDeclaration.Case.Parameter], at index: Int) {
        if parameters.count > 1, parameters.contains(where: { $0.label == nil }) {
            declaration.faults.append(
                fault("each of several values of a case needs a label, which is its name in JSON", at: index))
        }
        if parameters.contains(where: { $0.label?.withoutBackticks == "type" }) {
            declaration.faults.append(
                fault("no value of a case is called “type”: that is the name of the case in JSON", at: index))
        }
    }
}

extension TypeSyntax {
    /// Why no model generates such values; `nil` if one does.
    fileprivate var unsupported: String? {
        switch form {
        case .named: nil
        case .optional(let type), .array(let type): type.unsupported
        case .other(let reason): reason
        }
    }
}
