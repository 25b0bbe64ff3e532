import ChatterdBasics
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers

extension Configuration {
    /// The value of `CHATTERD_UPSTREAMS`: a JSON list of model servers.
    struct UpstreamList {
        /// What was read.
        private(set) var upstreams: [UpstreamDescription] = []
        /// What was wrong with it; a problem names its entry and shows no key.
        private(set) var problems: [String] = []
        private let defaults: UpstreamReader.Defaults

        /// Reads a list, or the file of that path.
        static func read(
            _ text: String, defaults: UpstreamReader.Defaults, readFile: ConfigurationFile.Read
        ) -> UpstreamList {
            var list = UpstreamList(defaults: defaults)
            switch text.first(where: { !$0.isWhitespace }) {
            case "[":
                list.parse(text)
            case "{":
                // Not a path, and it may hold a key.
                list.problems.append("not a JSON list: put [ and ] around it")
            default:
                switch readFile(text) {
                case .success(let content): list.parse(content)
                case .failure(let failure):
                    list.problems.append("neither a JSON list nor the path of a readable file: \(failure.reason)")
                }
            }
            return list
        }

        private init(defaults: UpstreamReader.Defaults) {
            self.defaults = defaults
        }

        private mutating func parse(_ text: String) {
            let bytes = Array(text.utf8)
            var number = 0
            do {
                var reader = JSONReader(bytes.span)
                try reader.beginArray()
                while try reader.nextElement() {
                    number += 1
                    guard try reader.kind() == .object else {
                        try reader.skipValue()
                        problems.append("entry \(number) is not an object")
                        continue
                    }
                    take(try UpstreamReader(from: &reader, .environment, defaults: defaults), number: number)
                }
                try reader.finish()
            } catch {
                problems.append("not a JSON list of objects: \(error)")
            }
        }

        private mutating func take(_ entry: UpstreamReader, number: Int) {
            if let upstream = entry.description {
                upstreams.append(upstream)
            }
            let name = entry.name.map { " (\"\(SettingReader.excerpt($0))\")" } ?? ""
            problems += entry.problems.map { "entry \(number)\(name): \($0)" }
        }
    }
}
