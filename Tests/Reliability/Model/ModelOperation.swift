import CXXHash
import Foundation
import LMDBCaching

// A history: the operations on a cache, with every parameter, so that any part of it can be repeated.

/// A call of the public interface. Printed histories are Swift, for the table of pinned ones.
indirect enum ModelOperation: Codable, Equatable, Sendable {
  case set(String, ModelValue, ModelExpiry = .never, cost: Int? = nil, tags: [String] = [])
  /// Numbers, beginning with the given one.
  case setSeveral([String], from: Int)
  case setIfAbsent(String, ModelValue, ModelExpiry = .never, tags: [String] = [])
  case setIfVersion(String, ModelValue, ModelExpiry = .never, tags: [String] = [], after: ModelInterference)
  case removeIfVersion(String, after: ModelInterference)
  case touch(String, ModelExpiry)
  /// The other operation is made by another thread or process while the closure runs.
  case update(String, ModelUpdate, ModelExpiry = .unchanged, cost: Int? = nil, meanwhile: ModelOperation? = nil)
  case increment(String, by: Int, ModelExpiry = .unchanged)
  case exchange(String, Int, ModelExpiry = .never)
  case take(String)
  case remove(String)
  case removeAll(ModelSelection)
  case batch([ModelOperation], fails: Bool = false, waits: Bool = false)
  case load(String, ModelLoad)

  case get(String, ModelValue.Kind, ModelExpiry? = nil)
  case values([String])
  case bytes(String)
  case presence(String)
  case list(String)
  case count
  case snapshot([ModelRead], during: [ModelOperation])
  /// Through ``CacheReader``, as the tool reads.
  case look([ModelRead])
  /// The contents of a backup.
  case backUp

  case flush
  case commit
  case dropMemory
  case limitMemory(count: Int, cost: Int)
  case sweep
  case trim(ModelTrim)

  /// Whether its result follows from one state, and it may be a part of a race.
  var isWrite: Bool {
    switch self {
    case .set, .setIfAbsent, .update, .increment, .exchange, .take, .remove, .batch: true
    case .removeAll(let selection): selection.isOneChange
    default: false
    }
  }

  var name: String { "\(self)".prefix { $0 != "(" }.description }
}

/// One step of a history.
indirect enum ModelStep: Codable, Equatable, Sendable {
  case perform(ModelOperation, ModelActor = .cache)
  /// Two operations at once, by different actors.
  case race(ModelOperation, ModelActor, ModelOperation, ModelActor)
  case failing(ModelFault, ModelOperation)
  case failingOpening(ModelFault)
  /// Milliseconds.
  case advance(Int)
  case setClock(by: Int)
  case reopen
  /// Goes on with a copy of the files, as after the death of the process.
  case crash
  /// Opens or closes a second object of the process on the directory.
  case toggleOther
  case startChild
  case endChild
  /// Kills the other process while it makes these changes, or after them and one of this process.
  case killChild([ModelOperation], afterAnswers: Int, meanwhile: ModelOperation? = nil)
  /// The knowledge of an observer of changes.
  case observe

  var name: String {
    switch self {
    case .perform(let operation, .child): "child " + operation.name
    case .perform(let operation, _): operation.name
    default: "\(self)".prefix { $0 != "(" }.description
    }
  }
}

enum ModelActor: String, Codable, Sendable, CaseIterable {
  case cache
  /// Without a memory tier.
  case disk
  /// Another object of this process, if it is open.
  case other
  /// Another process, if it runs.
  case child
}

enum ModelExpiry: Codable, Equatable, Sendable {
  case never, unchanged
  /// Milliseconds from now.
  case after(Int)
  case at(Int)
  case sliding(Int)

  func expiry(_ now: Int64) -> Expiry {
    switch self {
    case .never: .never
    case .unchanged: .unchanged
    case .after(let milliseconds): .after(.milliseconds(milliseconds))
    case .at(let milliseconds): .at(Self.date(milliseconds, now))
    case .sliding(let milliseconds): .sliding(.milliseconds(milliseconds))
    }
  }

  /// Nanoseconds since 1970; nil: never.
  func time(_ now: Int64, current: Int64?) -> Int64? {
    switch self {
    case .never: nil
    case .unchanged: current
    case .after(let milliseconds), .sliding(let milliseconds): now + Int64(max(0, milliseconds)) * 1_000_000
    case .at(let milliseconds): Int64((Self.date(milliseconds, now).timeIntervalSince1970 * 1e9).rounded())
    }
  }

  private static func date(_ milliseconds: Int, _ now: Int64) -> Date {
    Date(timeIntervalSince1970: Double(now / 1_000_000 + Int64(milliseconds)) / 1e3)
  }
}

enum ModelSelection: Codable, Equatable, Sendable {
  case all
  case prefix(String)
  case tags([String])
  case keys([String])
  /// Milliseconds ago.
  case createdBefore(Int)

  /// Whether it is one change, and allowed in a batch.
  var isOneChange: Bool {
    switch self {
    case .all, .prefix, .tags: true
    case .keys, .createdBefore: false
    }
  }

  func selection(_ now: Int64) -> CacheSelection {
    switch self {
    case .all: .all
    case .prefix(let prefix): .prefix(prefix)
    case .tags(let tags): tags.count == 1 ? .tag(tags[0]) : .tags(tags)
    case .keys(let keys): .keys(keys)
    case .createdBefore(let milliseconds): .createdBefore(Self.date(milliseconds, now))
    }
  }

  static func date(_ milliseconds: Int, _ now: Int64) -> Date {
    Date(timeIntervalSince1970: Double(now / 1_000_000 - Int64(milliseconds)) / 1e3)
  }
}

/// What happens between reading a version and using it.
enum ModelInterference: Codable, Equatable, Sendable {
  case nothing, set, touch, flush
}

enum ModelUpdate: Codable, Equatable, Sendable {
  case add(Int)
  case remove, fail
}

enum ModelTrim: Codable, Equatable, Sendable {
  case limits
  case count(Int), cost(Int)
  /// Seconds.
  case age(Int)
}

struct ModelFault: Codable, Equatable, Sendable {
  var call: String
  var status: Int32
  var first: Int
  var count: Int
}

struct ModelRead: Codable, Equatable, Sendable {
  var key: String
  var kind: ModelValue.Kind
}

/// A read with a loader. Times are milliseconds.
struct ModelLoad: Codable, Equatable, Sendable {
  enum Outcome: Codable { case value, absence, failure }

  var number: Int
  var outcome = Outcome.value
  /// Whether absences are answers.
  var isOptional = false
  var lifetime: Int?
  var refreshAhead: Double?
  var staleWhileRevalidate = 0
  var failSafe = 0
  var absenceLifetime: Int?
  var pause = 0
  var isLimited = false
  var tags: [String] = []
  /// Made by the closure.
  var meanwhile: ModelOperation?

  var options: LoadOptions {
    var options = LoadOptions(lifetime: lifetime.map { .milliseconds($0) })
    options.refreshAhead = refreshAhead
    options.staleWhileRevalidate = .milliseconds(staleWhileRevalidate)
    options.failSafe = .milliseconds(failSafe)
    options.absenceLifetime = absenceLifetime.map { .milliseconds($0) }
    options.pauseAfterFailure = .milliseconds(pause)
    options.longestPause = .seconds(8)
    if isLimited { options.timeLimit = .seconds(3_600) }
    options.tags = tags
    return options
  }
}

/// A value whose every byte follows from its number and size.
struct ModelValue: Codable, Equatable, Sendable, CustomStringConvertible {
  enum Kind: String, Codable, Sendable, CaseIterable {
    case text, data, number, numbers, record, object, date

    var type: (any ModelContent.Type)? {
      switch self {
      case .text: String.self
      case .data: Data.self
      case .number: Int.self
      case .numbers: [Int].self
      case .record: ModelRecord.self
      case .date: Date.self
      case .object: nil
      }
    }
  }

  let kind: Kind
  let number: Int
  let size: Int

  init(_ kind: Kind, _ number: Int, size: Int = 8) { (self.kind, self.number, self.size) = (kind, number, size) }

  static func number(_ number: Int) -> ModelValue { ModelValue(.number, number) }

  var description: String { "ModelValue(.\(kind), \(number), size: \(size))" }

  /// Bytes of the archive, where that is known.
  var archiveSize: Int? {
    switch kind {
    case .text, .data: size
    case .number, .date: 8
    case .numbers: size / 8 * 8
    case .record, .object: nil
    }
  }

  private var texts: [String] { (0...number % 3).map { .make($0 + number, size: size / 3) } }

  var object: NSArray { NSArray(array: texts.map { NSString(string: $0) }) }

  /// Equal for equal values.
  var fingerprint: String {
    guard let type = kind.type else { return Self.fingerprint(of: texts) }
    return type.make(number, size: size).fingerprint
  }

  static func fingerprint(of texts: [String]) -> String {
    "object " + texts.map(\.fingerprint).joined(separator: " ")
  }
}

protocol ModelContent: Codable, Sendable, Equatable {
  static func make(_ number: Int, size: Int) -> Self
  var fingerprint: String { get }
}

extension ModelContent {
  fileprivate func fingerprint(_ name: String, _ bytes: [UInt8]) -> String {
    let hash = bytes.withUnsafeBytes { cxxhash_64($0.baseAddress, $0.count, 0) }
    return "\(name) \(bytes.count) \(String(hash, radix: 36))"
  }
}

extension String: ModelContent {
  static func make(_ number: Int, size: Int) -> String {
    let head = String(number).prefix(size)
    return head + String(repeating: Character(UnicodeScalar(UInt8(97 + number % 26))), count: size - head.utf8.count)
  }

  var fingerprint: String { fingerprint("text", Array(utf8)) }
}

extension Data: ModelContent {
  static func make(_ number: Int, size: Int) -> Data {
    var data = Data(repeating: UInt8(truncatingIfNeeded: number), count: size)
    Swift.withUnsafeBytes(of: number.littleEndian) {
      data.replaceSubrange(0..<Swift.min(8, size), with: $0.prefix(size))
    }
    return data
  }

  var fingerprint: String { fingerprint("data", Array(self)) }
}

extension Int: ModelContent {
  static func make(_ number: Int, size: Int) -> Int { number }
  var fingerprint: String { "number \(self)" }
}

extension [Int]: ModelContent {
  static func make(_ number: Int, size: Int) -> [Int] { (0..<size / 8).map { number + $0 } }
  var fingerprint: String { fingerprint("numbers", withUnsafeBytes { Swift.Array($0) }) }
}

extension Date: ModelContent {
  static func make(_ number: Int, size: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(number) / 8) }
  var fingerprint: String { "date \(timeIntervalSinceReferenceDate)" }
}

/// Goes through the coder.
struct ModelRecord: ModelContent {
  struct Part: Codable, Equatable {
    var name: String
    var share: Double?
  }

  var number: Int
  var text: String
  var parts: [String: Part]
  var flags: [Bool]

  static func make(_ number: Int, size: Int) -> ModelRecord {
    ModelRecord(
      number: number, text: .make(number, size: size),
      parts: ["é": Part(name: "\(number)", share: Double(number) / 3), "": Part(name: "", share: nil)],
      flags: [number % 2 == 0, true])
  }

  var fingerprint: String {
    let parts = parts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.name) \($0.value.share ?? -1)" }
    return fingerprint("record", Array("\(number) \(text) \(parts) \(flags)".utf8))
  }
}

/// Keys that are easy to confuse, lose or reject.
enum ModelKeys {
  static let all: [String] =
    [
      "a", "a/1", "", "b", "a/2", "c/1", "a/é", "a/e\u{301}", "b/\0", "c/2", "\0", "a\0", "a\u{212B}",
      String(repeating: "p", count: 511), String(repeating: "p", count: 512),
    ]
    // Long keys with a common prefix in LMDB.
    + (0..<5).map { String(repeating: "s", count: 494) + "tail of a long key \($0)" }

  static let prefixes = [
    "", "a", "a/", "c", "a/e", "b", String(repeating: "s", count: 494), String(repeating: "p", count: 511), "x",
  ]

  static let tags = ["t", "u", "v"]

  /// Equal strings may have different bytes.
  static func index(_ key: String) -> Int? { all.firstIndex { $0.utf8.elementsEqual(key.utf8) } }
}

/// A key, compared by its bytes as the cache does.
struct ModelKey: Hashable, CustomStringConvertible {
  let bytes: [UInt8]

  init(_ string: String) { bytes = Array(string.utf8) }

  var string: String { String(decoding: bytes, as: UTF8.self) }

  func hasPrefix(_ prefix: String) -> Bool { bytes.starts(with: prefix.utf8) }

  var description: String {
    let text = string.debugDescription
    return bytes.count > 20 ? "\(text.prefix(4))…\(text.suffix(3)) (\(bytes.count))" : text
  }
}
