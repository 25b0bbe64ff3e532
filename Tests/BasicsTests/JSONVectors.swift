import ChatterdBasics
import Testing

/// A text that is not JSON, and its expected fault.
struct JSONRefusal: Sendable, CustomTestStringConvertible {
    let bytes: [UInt8]
    let code: JSONError.Code

    init(_ text: String, _ code: JSONError.Code) {
        bytes = Array(text.utf8)
        self.code = code
    }

    init(bytes: [UInt8], _ code: JSONError.Code) {
        self.bytes = bytes
        self.code = code
    }

    var testDescription: String { String(decoding: bytes, as: UTF8.self).debugDescription }
}

let jsonTextsToAccept: [String] = [
    // Literals and white space.
    "true", "false", "null", " true", "true ", "\ttrue\r\n", " \n\r\t null\n", "[true]", "[false,null]",
    // Numbers.
    "0", "-0", "1", "-1", "10", "123456789", "0.0", "0.5", "-0.5", "1.25", "0e0", "0e1", "1e1", "1E1", "1e+1", "1e-1",
    "1E+22", "-1.5E-10", "123.456e789", "0.4e-007", "[0e+1]", "[ 4]", "[-0]", "[-123]", "[1.234e+100]", "[1,2,3]",
    "12345678901234567890123456789012345678901234567890", "1e999999", "-1e-999999", "9007199254740993",
    // Strings.
    #""""#, #""a""#, #""asd ""#, #""\"""#, #""\\""#, #""\/""#, #""\b\f\n\r\t""#, #""\u0041""#, #""\u00e9""#,
    #""\u00E9""#, #""\u0000""#, #""\uFFFF""#, #""\ud83d\ude00""#, #""\uD834\uDD1E""#, #""\ud800""#, #""\udc00x""#,
    #""\ud800\u0041""#, #""\ud800\ud800\udc00""#, #""\\u0000""#, #""\\n""#, #""\"\\\/\b""#, "\"\u{7F}\"", "\"é\"",
    "\"日本語\"", "\"😀\"", "\"\u{2028}\u{2029}\"", "\"\u{FEFF}\"", "\"\u{10FFFF}\"", "\"\u{FFFD}\"", #""a/*b*/c""#,
    #""abcdefg""#, #""abcdefgh""#, #""abcdefghi""#, #""abcdefghijklmno\np""#, #""1234567\\""#, #""12345678\\""#,
    #""{[,:]}""#, #"["a","b"]"#, #"["\u0012"]"#, #"["\uA66D"]"#, #"["new\u000Aline"]"#, #"["\u0022"]"#, #"["\u005C"]"#,
    // Arrays.
    "[]", "[ ]", "[[]]", "[[],[]]", "[[[]]]", "[1]", "[1 ]", "[ 1]", "[1 , 2]", "[1\n,2]", "[null, 1, \"1\", {}]",
    "[[1,[2,[3,[4,[5]]]]]]", "[1,null,null,null,2]", "[\"\"]", "[\"a\"]", "[2] ", " []", " [1]",
    // Objects.
    "{}", "{ }", #"{"a":1}"#, #"{"a":"b"}"#, #"{ "a" : "b" }"#, #"{"a":"b","a":"c"}"#, #"{"a":"b","a":"b"}"#,
    #"{"":0}"#,
    #"{"a":[]}"#, #"{"a":{}}"#, #"{"a":{"b":{"c":[{}]}}}"#, "{\n\"a\": \"b\"\n}", #"{"min":-1.0e+28,"max":1.0e+28}"#,
    #"{"foo\u0000bar":42}"#, #"{"\u0061":1}"#, #"{"a":true,"b":false,"c":null}"#, #"{"x":[{"id":"xx"}],"id":"xx"}"#,
    #"{"title":"\u041f\u043e\u043b"}"#, #"[{},{},[{}]]"#, #"{"a":[1,2,{"b":[3,4]}],"c":"d"}"#,
]

let jsonTextsToRefuse: [JSONRefusal] = [
    // Empty or incomplete texts.
    .init("", .unexpectedEnd), .init(" ", .unexpectedEnd), .init("\n", .unexpectedEnd), .init("[", .unexpectedEnd),
    .init("{", .unexpectedEnd), .init("[1", .unexpectedEnd), .init("[1,", .unexpectedEnd), .init("[[", .unexpectedEnd),
    .init("{\"", .unexpectedEnd), .init("{\"a", .unexpectedEnd), .init("{\"a\"", .unexpectedEnd),
    .init("{\"a\":", .unexpectedEnd), .init("{\"a\":1", .unexpectedEnd), .init("{\"a\":1,", .unexpectedEnd),
    .init("\"", .unexpectedEnd), .init("\"a", .unexpectedEnd), .init("\"\\", .unexpectedEnd),
    .init("\"\\u", .unexpectedEnd), .init("\"\\u00", .unexpectedEnd), .init("\"\\u0041", .unexpectedEnd),
    .init("[\"a", .unexpectedEnd), .init("[{}", .unexpectedEnd), .init("{\"a\":[", .unexpectedEnd),
    .init("-", .unexpectedEnd), .init("1.", .unexpectedEnd), .init("1e", .unexpectedEnd), .init("1e+", .unexpectedEnd),
    .init("t", .unexpectedEnd), .init("tru", .unexpectedEnd), .init("nul", .unexpectedEnd),
    .init("fals", .unexpectedEnd),
    // Literals.
    .init("[True]", .unexpectedByte), .init("[NULL]", .unexpectedByte), .init("[nul]", .invalidLiteral),
    .init("[tru]", .invalidLiteral), .init("[fals]", .invalidLiteral), .init("[trux]", .invalidLiteral),
    .init("truee", .trailingBytes), .init("nulll", .trailingBytes), .init("[truefalse]", .unexpectedByte),
    .init("[undefined]", .unexpectedByte), .init("[NaN]", .unexpectedByte), .init("[nan]", .invalidLiteral),
    .init("[Infinity]", .unexpectedByte), .init("[-Infinity]", .invalidNumber), .init("abc", .unexpectedByte),
    // Numbers.
    .init("[+1]", .unexpectedByte), .init("[.5]", .unexpectedByte), .init("[-.5]", .invalidNumber),
    .init("[1.]", .invalidNumber), .init("[1.e1]", .invalidNumber), .init("[01]", .invalidNumber),
    .init("[00]", .invalidNumber), .init("[-01]", .invalidNumber), .init("[-012]", .invalidNumber),
    .init("[1e]", .invalidNumber), .init("[1e+]", .invalidNumber), .init("[1e-]", .invalidNumber),
    .init("[1eE2]", .invalidNumber), .init("[1e1.5]", .unexpectedByte), .init("[0x1]", .unexpectedByte),
    .init("[1.2.3]", .unexpectedByte), .init("[--1]", .invalidNumber), .init("[-]", .invalidNumber),
    .init("[-a]", .invalidNumber), .init("[1+2]", .unexpectedByte), .init("[1 000]", .unexpectedByte),
    .init("[1_000]", .unexpectedByte), .init("[1a]", .unexpectedByte), .init("[-1x]", .unexpectedByte),
    .init("[0e]", .invalidNumber), .init("[0.e1]", .invalidNumber), .init("1 2", .trailingBytes),
    .init("[1.0e+-1]", .invalidNumber), .init("[\u{FF11}]", .unexpectedByte), .init("0a", .trailingBytes),
    // Strings.
    .init("[\"\\a\"]", .invalidEscape), .init("[\"\\x41\"]", .invalidEscape), .init("[\"\\0\"]", .invalidEscape),
    .init("[\"\\U0041\"]", .invalidEscape), .init("[\"\\'\"]", .invalidEscape), .init("[\"\\ \"]", .invalidEscape),
    .init("[\"\\u004\"]", .invalidEscape), .init("[\"\\u00G0\"]", .invalidEscape),
    .init("[\"\\u+041\"]", .invalidEscape),
    .init("[\"\\u 041\"]", .invalidEscape), .init("[\"\\uD800\\u\"]", .invalidEscape),
    .init("[\"\\uD800\\u1\"]", .invalidEscape), .init("[\"\\uD800\\u1x\"]", .invalidEscape),
    .init("[\"\\\u{1}\"]", .invalidEscape), .init("[\"\\é\"]", .invalidEscape), .init("[\"\\😀\"]", .invalidEscape),
    .init("[\"a\nb\"]", .controlCharacter), .init("[\"a\tb\"]", .controlCharacter),
    .init("[\"a\rb\"]", .controlCharacter),
    .init("[\"\u{0}\"]", .controlCharacter), .init("[\"\u{1F}\"]", .controlCharacter),
    .init("[\"12345678\u{1}\"]", .controlCharacter), .init("['a']", .unexpectedByte), .init("[a]", .unexpectedByte),
    .init("[\"a\" \"b\"]", .unexpectedByte), .init("[\\n]", .unexpectedByte), .init("[\"\"\"]", .unexpectedByte),
    .init("\"a\"b", .trailingBytes), .init("\"\"\"\"", .trailingBytes), .init("[\u{201C}a\u{201D}]", .unexpectedByte),
    // Arrays.
    .init("[1,]", .unexpectedByte), .init("[,]", .unexpectedByte), .init("[,1]", .unexpectedByte),
    .init("[1,,2]", .unexpectedByte), .init("[1:2]", .unexpectedByte), .init("[1;2]", .unexpectedByte),
    .init("[1}", .unexpectedByte), .init("]", .unexpectedByte), .init("[]]", .trailingBytes),
    .init("[][]", .trailingBytes),
    .init("[1] x", .trailingBytes), .init("[3[4]]", .unexpectedByte), .init("[\"a\",\n4\n,1,", .unexpectedEnd),
    .init("[1]2", .trailingBytes), .init("[\"\": 1]", .unexpectedByte), .init("[}", .unexpectedByte),
    // Objects.
    .init("{\"a\":1,}", .unexpectedByte), .init("{,\"a\":1}", .unexpectedByte),
    .init("{\"a\":1,,\"b\":2}", .unexpectedByte),
    .init("{\"a\"}", .unexpectedByte), .init("{\"a\" 1}", .unexpectedByte), .init("{\"a\":}", .unexpectedByte),
    .init("{:1}", .unexpectedByte), .init("{a:1}", .unexpectedByte), .init("{'a':1}", .unexpectedByte),
    .init("{1:1}", .unexpectedByte), .init("{null:1}", .unexpectedByte), .init("{\"a\":1]", .unexpectedByte),
    .init("{\"a\"::1}", .unexpectedByte), .init("{\"a\",1}", .unexpectedByte),
    .init("{\"a\":1 \"b\":2}", .unexpectedByte),
    .init("{]", .unexpectedByte), .init("{[]:1}", .unexpectedByte), .init("{\"a\":1}}", .trailingBytes),
    .init("{\"a\":1}#", .trailingBytes), .init("{}{}", .trailingBytes), .init("{\"a\":\"b\":\"c\"}", .unexpectedByte),
    .init("{\"a\":1/**/}", .unexpectedByte), .init("{/**/}", .unexpectedByte), .init("}", .unexpectedByte),
    .init("{\"a\":1, \"b\"}", .unexpectedByte), .init("{\"a\" b}", .unexpectedByte),
    // Invalid white space, marks, comments.
    .init("\u{FEFF}[]", .unexpectedByte), .init("[\u{A0}]", .unexpectedByte), .init("[\u{C}]", .unexpectedByte),
    .init("[\u{B}]", .unexpectedByte), .init("\u{0}", .unexpectedByte), .init("[]\u{0}", .trailingBytes),
    .init("[1]\u{2028}", .trailingBytes), .init("[1 // x\n]", .unexpectedByte), .init("<null>", .unexpectedByte),
    .init("*", .unexpectedByte), .init("{\"a\":\u{2060}1}", .unexpectedByte), .init(",", .unexpectedByte),
    // Bytes that are not UTF-8.
    .init(bytes: [0x22, 0xFF, 0x22], .invalidUTF8), .init(bytes: [0x22, 0xC3, 0x22], .invalidUTF8),
    .init(bytes: [0x22, 0xC0, 0x80, 0x22], .invalidUTF8), .init(bytes: [0x22, 0xED, 0xA0, 0x80, 0x22], .invalidUTF8),
    .init(bytes: [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], .invalidUTF8), .init(bytes: [0x22, 0x80, 0x22], .invalidUTF8),
    .init(bytes: [0x22, 0xE2, 0x82, 0x22], .invalidUTF8), .init(bytes: [0xFF, 0xFE, 0x5B, 0x00], .invalidUTF8),
    .init(bytes: [0x5B, 0x31, 0xE5, 0x5D], .invalidUTF8), .init(bytes: [0x22, 0x5C, 0xE5, 0x22], .invalidUTF8),
]
