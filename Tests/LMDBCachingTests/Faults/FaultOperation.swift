import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

/// The value under each key: the oracle of the table.
typealias Contents = [String: ContentEntry]

struct ContentEntry: Equatable, Sendable, CustomStringConvertible {
  var text: String
  /// In seconds after ``FaultSubject/start``.
  var expiration: Int?

  init(_ text: String, until expiration: Int? = nil) {
    self.text = text
    self.expiration = expiration
  }

  var description: String {
    (text.count < 20 ? text : "\(text.prefix(5))…(\(text.count))") + (expiration.map { " until \($0)" } ?? "")
  }
}

/// An operation of the public interface, in the table of faults.
struct FaultOperation: Sendable, CustomTestStringConvertible {
  let name: String
  var stages: [FaultSubject.Stage] = [.cold, .warm, .shared]
  /// The change, once it is made.
  var effect: @Sendable (inout Contents) -> Void = { _ in }
  /// Whether a failed operation has changed everything or nothing, rather than some of the keys.
  var isAtomic = true
  /// Whether it may succeed without its effect.
  var isOptional = false
  var demand = Demand.none
  /// Whether it tries again in a larger map.
  var growsMap: Bool { !["open", "back up", "remove by age", "trim to no entry", "trim to the limits"].contains(name) }
  /// The result, given the earlier contents.
  var answer: @Sendable (Contents) -> String = { _ in "" }
  let run: @Sendable (FaultSubject) throws -> String

  var testDescription: String { name }

  /// Its behavior while the disk fails or is full.
  enum Demand {
    /// It succeeds: the write waits in the journal, or in memory. With durability `.full` as ``commit``.
    case journal
    /// It throws if nothing can be committed.
    case commit
    case none
  }

  // MARK: Operations

  private static func write(
    _ name: String, demand: Demand = .none, isAtomic: Bool = true,
    _ effect: @escaping @Sendable (inout Contents) -> Void, _ body: @escaping @Sendable (LMDBCache) throws -> Void
  ) -> FaultOperation {
    FaultOperation(name: name, effect: effect, isAtomic: isAtomic, demand: demand) {
      try body($0.open())
      return ""
    }
  }

  private static func read(
    _ name: String, stages: [FaultSubject.Stage] = [.cold, .warm],
    _ answer: @escaping @Sendable (Contents) -> String, _ body: @escaping @Sendable (LMDBCache) throws -> String
  ) -> FaultOperation {
    FaultOperation(name: name, stages: stages, answer: answer) { try body($0.open()) }
  }

  static let long = String(repeating: "l", count: 5_000)
  static let longer = String(repeating: "n", count: 9_000)

  private static let keys = ["short", "long", "missing", "waiting", "replaced", "removed", "prefix/2"]

  private static func text(_ contents: Contents, _ keys: [String]) -> String {
    keys.map { contents[$0]?.text ?? "nil" }.joined(separator: ",")
  }

  private static func keys(_ contents: Contents) -> String { contents.keys.sorted().joined(separator: ",") }

  static let all: [FaultOperation] = [
    // Life cycle
    FaultOperation(name: "open", stages: [.closed]) {
      _ = try $0.open()
      return ""
    },
    FaultOperation(name: "open after the death of a process", stages: [.crashed]) {
      _ = try $0.open()
      return ""
    },
    .write("close", { _ in }) { try $0.close() },
    .write("flush", demand: .commit, { _ in }) { try $0.flush() },
    // Writes
    .write("set", demand: .journal, { $0["short"] = ContentEntry("new") }) { try $0.set("new", forKey: "short") },
    .write("set a new key", demand: .journal, { $0["new"] = ContentEntry("new") }) {
      try $0.set("new", forKey: "new", tags: ["tag"])
    },
    .write("set a long value", demand: .journal, { $0["long"] = ContentEntry(longer) }) {
      try $0.set(longer, forKey: "long")
    },
    .write("set, expiry unchanged", { $0["expiring"]?.text = longer }) {
      try $0.set(longer, forKey: "expiring", expires: .unchanged)
    },
    .write("set an object", demand: .journal, { $0["object"] = ContentEntry("new") }) {
      try $0.setObject(NSString(string: "new"), forKey: "object")
    },
    .write("set several", demand: .journal, isAtomic: false, { $0.merge(several) { $1 } }) {
      try $0.set([("short", "1"), ("long", longer), ("new", "3")].map { (key: $0, value: $1) })
    },
    .write("touch", { $0["long"]?.expiration = 7_200 }) {
      try confirm($0.touch(forKey: "long", expires: .at(FaultSubject.start + 7_200)))
    },
    .write("batch", batched) { try $0.write(batch) },
    .write("batch that waits for its commit", demand: .commit, batched) { try $0.write(waitsForCommit: true, batch) },
    // Removals
    .write("remove", demand: .journal, { $0["long"] = nil }) { try $0.removeValue(forKey: "long") },
    .write("remove keys", demand: .journal, isAtomic: false, { for key in keys { $0[key] = nil } }) {
      try $0.removeAll(.keys(keys))
    },
    .write("remove a prefix", demand: .journal, { $0 = $0.filter { !$0.key.hasPrefix("prefix/") } }) {
      try $0.removeAll(.prefix("prefix/"))
    },
    .write("remove a tag", demand: .journal, { $0 = $0.filter { !$0.key.hasPrefix("tagged/") } }) {
      try $0.removeAll(.tag("tag"))
    },
    .write("remove everything", demand: .journal, { $0 = [:] }) { try $0.removeAll() },
    .write("remove by age", demand: .commit, isAtomic: false, { $0 = [:] }) {
      try $0.removeAll(.createdBefore(.distantFuture))
    },
    .write("trim to no entry", isAtomic: false, { $0 = [:] }) { try $0.trim(to: .count(0)) },
    .write("trim to the limits", { _ in }) { try $0.trim(to: .limits) },
    // Conditional writes
    .write("set if absent", { $0["new"] = ContentEntry("new") }) {
      try confirm($0.set("new", forKey: "new", if: .absent))
    },
    .write("set if absent, long", { $0["new"] = ContentEntry(longer) }) {
      try confirm($0.set(longer, forKey: "new", if: .absent))
    },
    .read("set if absent, refused", stages: [.cold, .warm, .shared], { _ in "false" }) {
      "\(try $0.set("new", forKey: "short", if: .absent))"
    },
    .write("set if unchanged", { $0["short"] = ContentEntry("new") }) {
      let version = try #require(try $0.entry(forKey: "short")).version
      try confirm($0.set("new", forKey: "short", if: .version(version)))
    },
    .write("remove if unchanged", { $0["short"] = nil }) {
      let version = try #require(try $0.entry(forKey: "short")).version
      try confirm($0.removeValue(forKey: "short", ifVersion: version))
    },
    .write("update", { $0["expiring"]?.text += longer }) {
      try $0.update(String.self, forKey: "expiring") { $0? += longer }
    },
    .write("increment", { $0["number"] = ContentEntry("2") }) { try confirm($0.increment(forKey: "number") == 2) },
    FaultOperation(
      name: "exchange", effect: { $0["replaced"] = ContentEntry("new") }, answer: { $0["replaced"]?.text ?? "nil" },
      run: { try $0.open().exchange("new", forKey: "replaced") ?? "nil" }),
    FaultOperation(
      name: "remove and return", effect: { $0["long"] = nil }, answer: { $0["long"]?.text ?? "nil" },
      run: { try $0.open().removeValue(String.self, forKey: "long") ?? "nil" }),
    // Reads
    .read("value", { text($0, ["short"]) }) { try $0.value(String.self, forKey: "short") ?? "nil" },
    .read("long value", { text($0, ["long"]) }) { try $0.value(String.self, forKey: "long") ?? "nil" },
    .read("missing value", { _ in "nil" }) { try $0.value(String.self, forKey: "missing") ?? "nil" },
    .read("object", { text($0, ["object"]) }) { "\(try $0.object(forKey: "object") as? NSString ?? "nil")" },
    .read("values", { text($0, keys) }) {
      try $0.values(String.self, forKeys: keys).map { $0 ?? "nil" }.joined(separator: ",")
    },
    .read("bytes", { "\($0["long"]?.text.utf8.count ?? 0)" }) {
      "\(try $0.withBytes(forKey: "long") { $0.byteCount } ?? 0)"
    },
    .read("entry", { "\($0["expiring"]?.expiration ?? 0)" }) {
      "\(try FaultSubject.seconds($0.entry(forKey: "expiring")?.expiration) ?? 0)"
    },
    .read("contains", { _ in "true false" }) { "\(try $0.contains("long")) \(try $0.contains("missing"))" },
    .read("list", { keys($0) }) { try $0.entries().map(\.key).joined(separator: ",") },
    .read("count", { "\($0.count)" }) { "\(try $0.count)" },
    .read("snapshot", { text($0, keys) + ";" + keys($0) }) {
      try $0.read { snapshot in
        let texts = try keys.map { try snapshot.value(String.self, forKey: $0) ?? "nil" }
        return texts.joined(separator: ",") + ";" + (try snapshot.entries().map(\.key).joined(separator: ","))
      }
    },
    // The value is returned even if the expiry cannot be moved.
    FaultOperation(
      name: "value, sliding", effect: { $0["expiring"]?.expiration = 36_000 }, isOptional: true,
      answer: { text($0, ["expiring"]) },
      run: { try $0.open().value(String.self, forKey: "expiring", expires: .sliding(.seconds(36_000))) ?? "nil" }),
    // Loads
    FaultOperation(
      name: "load", effect: { $0["new"] = ContentEntry(longer) }, isOptional: true, answer: { _ in longer },
      run: { try $0.open().value(String.self, forKey: "new", load: { _ in longer }) }),
    .read("load what is there", { text($0, ["long"]) }) {
      try $0.value(String.self, forKey: "long", load: { _ in "?" })
    },
    // The tool and upkeep
    FaultOperation(
      name: "back up", stages: [.cold, .warm], demand: .commit,
      run: { subject in
        try subject.open().backUp(to: subject.backup)
        return ""
      }),
    FaultOperation(
      name: "read as the tool", stages: [.closed, .crashed, .warm], answer: { text($0, keys) + ";" + keys($0) },
      run: { subject in
        guard let reader = try CacheReader(directory: subject.place, clock: .manual(subject.clock)) else {
          return "none"
        }
        let texts = try keys.map { try reader.value(String.self, forKey: $0) ?? "nil" }
        let found = try reader.page(limit: 100).entries.map(\.key).joined(separator: ",")
        // An unreadable file is named, and the rest is shown.
        if let notice = reader.notices.first { throw CacheError(.storageFailed, notice) }
        return texts.joined(separator: ",") + ";" + found
      }),
    FaultOperation(name: "upkeep") { subject in
      for _ in 0..<3 { try subject.makeRound(after: .seconds(30)) }
      return ""
    },
  ]

  private static func confirm(_ isDone: Bool) { #expect(isDone) }

  private static let several = ["short": ContentEntry("1"), "long": ContentEntry(longer), "new": ContentEntry("3")]

  @Sendable private static func batched(_ contents: inout Contents) {
    contents.merge(several) { $1 }
    contents["prefix/1"] = nil
  }

  @Sendable private static func batch(_ batch: inout CacheBatch) {
    batch.set("1", forKey: "short")
    batch.set(longer, forKey: "long")
    batch.set("3", forKey: "new")
    batch.removeValue(forKey: "prefix/1")
  }
}
