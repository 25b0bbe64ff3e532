import Foundation

/// A plan of PostgreSQL, as `EXPLAIN (FORMAT JSON, VERBOSE)` shows it.
struct ExplainedPlan {
    fileprivate typealias Node = [String: Any]

    /// A scan of `chatts`, with the nodes above it, the nearest first.
    fileprivate struct Scan {
        let node: Node
        let path: [Node]
    }

    private let root: Node

    /// Parses a document; `nil` for another text.
    init?(_ document: String) {
        guard let list = try? JSONSerialization.jsonObject(with: Data(document.utf8)) as? [Node],
            let root = list.first?["Plan"] as? Node
        else { return nil }
        self.root = root
    }

    /// What the plan reads of `chatts` beyond the rows that it needs.
    ///
    /// - Parameter mayReadAll: whether it may read a conversation once.
    func faults(mayReadAll: Bool) -> [String] {
        var nodes: [Node] = []
        var scans: [Scan] = []
        collect(root, [], &nodes, &scans)
        let names = Set(scans.compactMap { $0.node["Alias"] as? String })
        var faults = nodes.compactMap { node -> String? in
            guard let filter = node["Join Filter"] as? String, names.contains(where: { filter.compares(seqOf: $0) })
            else { return nil }
            return "joins by seq: \(filter)"
        }
        for scan in scans {
            let alias = scan.node["Alias"] as? String ?? ""
            let filter = scan.node["Filter"] as? String ?? ""
            if scan.node["Node Type"] as? String == "Seq Scan" {
                faults.append("reads the whole table")
            } else if filter.compares(seqOf: alias) {
                faults.append("compares seq without the index: \(filter)")
            } else if !scan.isBounded, scan.isRepeated || !mayReadAll {
                faults.append(
                    "reads a whole conversation\(scan.isRepeated ? " again and again" : ""): \(alias) \(filter)")
            }
        }
        return faults
    }

    private func collect(_ node: Node, _ path: [Node], _ nodes: inout [Node], _ scans: inout [Scan]) {
        nodes.append(node)
        if node["Relation Name"] as? String == "chatts", (node["Node Type"] as? String)?.hasSuffix("Scan") == true {
            scans.append(Scan(node: node, path: path))
        }
        for child in node["Plans"] as? [Node] ?? [] {
            collect(child, [node] + path, &nodes, &scans)
        }
    }
}

extension ExplainedPlan.Scan {
    /// Whether the index finds the rows by more than their conversation, or the scan ends at the first ones.
    var isBounded: Bool {
        var conditions = [node["Index Cond"] as? String ?? ""]
        for child in node["Plans"] as? [ExplainedPlan.Node] ?? [] {
            conditions.append(child["Index Cond"] as? String ?? "")
        }
        if conditions.contains(where: { $0.contains(#/\.(seq|id|after) (=|<|>)/#) }) { return true }
        // EXISTS reads no column, and ends at the first row.
        let filter = node["Filter"] as? String ?? ""
        if node["Output"] == nil, !filter.contains(" AND ") { return true }
        return around.contains { $0["Node Type"] as? String == "Limit" }
    }

    /// Whether the scan runs for each row of another node.
    var isRepeated: Bool {
        let nodes = around
        for (index, node) in nodes.enumerated() {
            if node["Parent Relationship"] as? String == "SubPlan" { return true }
            if node["Parent Relationship"] as? String == "Inner", index + 1 < nodes.count,
                nodes[index + 1]["Node Type"] as? String == "Nested Loop"
            {
                return true
            }
        }
        return false
    }

    /// The scan and the nodes above it in its part of the plan, which runs once if it is an InitPlan.
    private var around: [ExplainedPlan.Node] {
        var nodes: [ExplainedPlan.Node] = []
        for node in [node] + path {
            nodes.append(node)
            if let relation = node["Parent Relationship"] as? String, relation == "InitPlan" || relation == "SubPlan" {
                break
            }
        }
        return nodes
    }
}

extension String {
    /// Whether a condition compares the number of a row of a table with a value, other than to tell replies (`turn = seq`).
    fileprivate func compares(seqOf alias: String) -> Bool {
        let before = matches(of: #/(?:([\w.]+) )?(?:=|<>|<|>|<=|>=) (\w+)\.seq(?!\w)/#)
        let behind = matches(of: #/(\w+)\.seq (?:=|<>|<|>|<=|>=) ([\w.]+)/#)
        return before.contains { $0.2 == alias && $0.1?.hasSuffix(".turn") != true }
            || behind.contains { $0.1 == alias && !$0.2.hasSuffix(".turn") }
    }
}
