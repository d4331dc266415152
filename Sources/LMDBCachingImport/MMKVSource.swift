import Foundation
import FoundationArchives
import LMDBCaching

/// An MMKV file with externally given types.
struct MMKVSource: EntrySource {
  private static let expirySize = 4

  private let file: MMKVFile
  private let types: MMKVTypes
  private let context: SourceContext
  private var index = -1
  private var hasRemarked = false

  var count: Int? { file.pairs.count }

  init(_ path: String, _ types: MMKVTypes, _ context: SourceContext) throws(ImportError) {
    file = try MMKVFile(path)
    self.types = types
    self.context = context
  }

  mutating func next() throws(ImportError) -> SourceStep? {
    if file.isOlderState, !hasRemarked {
      hasRemarked = true
      return .remark(
        ImportRefusal(
          key: "",
          EntryFailure(
            .olderState, "What was written last is damaged. What MMKV has then, the last full state, is taken.")))
    }
    guard index + 1 < file.pairs.count else { return nil }
    index += 1
    let pair = file.pairs[index]
    guard file.hasExpiries else { return .entry(SourceEntry(key: pair.key)) }
    guard pair.value.count >= Self.expirySize else {
      return .refused(
        ImportRefusal(key: pair.key, EntryFailure(.damagedValue, "The value is too short to have an expiry.")))
    }
    let seconds = (0..<Self.expirySize).reduce(Int64(0)) {
      $0 | Int64(file.bytes[pair.value.upperBound - Self.expirySize + $1]) << Int64(8 * $1)
    }
    return .entry(SourceEntry(key: pair.key, expires: seconds * 1_000_000_000))
  }

  mutating func value() throws(EntryFailure) -> ImportedValue {
    let pair = file.pairs[index]
    let range = file.hasExpiries ? pair.value.lowerBound..<pair.value.upperBound - Self.expirySize : pair.value
    let type = types.type(of: pair.key)
    guard let value = try value(in: range, type) else {
      throw EntryFailure(
        .wrongType, "The value has \(range.count) bytes, and they are no \(type). Give its type, or raw for the bytes.")
    }
    return value
  }

  private func value(in range: Range<Int>, _ type: MMKVType) throws(EntryFailure) -> ImportedValue? {
    switch type {
    case .raw: return .bytes(Data(file.bytes[range]))
    case .bool:
      guard let number = number(range), number <= 1 else { return nil }
      return .plain(.bool(number == 1))
    // Negative numbers are written with all 64 bits.
    case .int32:
      guard let number = number(range), let value = Int32(exactly: Int64(bitPattern: number)) else { return nil }
      return .plain(.integer(Int64(value)))
    case .uint32:
      guard let number = number(range), number <= UInt64(UInt32.max) else { return nil }
      return .plain(.integer(Int64(number)))
    case .int64: return number(range).map { .plain(.integer(Int64(bitPattern: $0))) }
    case .uint64:
      guard let number = number(range) else { return nil }
      return .plain(Int64(exactly: number).map { .integer($0) } ?? .unsigned(number))
    case .float:
      guard range.count == 4 else { return nil }
      return .plain(.double(Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits(range))))))
    case .double: return double(range).map { .plain(.double($0)) }
    case .date: return double(range).map { .plain(.date(Date(timeIntervalSince1970: $0))) }
    case .bytes: return held(range).map { .bytes(Data(file.bytes[$0])) }
    case .string:
      return held(range).flatMap { String(validating: file.bytes[$0], as: UTF8.self) }.map { .plain(.string($0)) }
    case .strings: return strings(range)
    case .archive:
      guard let held = held(range) else { return nil }
      return try ArchivedData.value(
        of: Data(file.bytes[held]), isUnarchivedByClosure: context.isUnarchivedByClosure)
    }
  }

  /// The bits of a fixed-width number.
  private func bits(_ range: Range<Int>) -> UInt64 { file.bytes[range].reversed().reduce(0) { $0 << 8 | UInt64($1) } }

  private func double(_ range: Range<Int>) -> Double? { range.count == 8 ? Double(bitPattern: bits(range)) : nil }

  private func number(_ range: Range<Int>) -> UInt64? {
    var reader = MMKVBytes(file.bytes, range)
    guard let number = reader.number(), reader.isAtEnd else { return nil }
    return number
  }

  /// The range of the bytes that fill the value after their length.
  private func held(_ range: Range<Int>) -> Range<Int>? {
    var reader = MMKVBytes(file.bytes, range)
    guard let held = reader.run(), reader.isAtEnd else { return nil }
    return held
  }

  private func strings(_ range: Range<Int>) -> ImportedValue? {
    guard let held = held(range) else { return nil }
    var reader = MMKVBytes(file.bytes, held)
    var strings: [PlainValue] = []
    while !reader.isAtEnd {
      guard let run = reader.run(), let text = String(validating: file.bytes[run], as: UTF8.self) else { return nil }
      strings.append(.string(text))
    }
    return .plain(.array(strings))
  }
}

/// The types of MMKV values by key: exact keys, or prefixes followed by an asterisk.
///
/// ```swift
/// let types: MMKVTypes = ["launches": .int32, "token": .string, "draft:*": .string]
/// ```
///
/// Exact keys take precedence over prefixes, and longer prefixes over shorter ones. `"*"` is the default, otherwise
/// ``MMKVType/raw``.
public struct MMKVTypes: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  private var exact: [ByteKey: MMKVType] = [:]
  /// Longest first.
  private var beginnings: [(beginning: ByteKey, type: MMKVType)] = []

  public init() {}

  /// The last one wins among equal keys.
  public init(dictionaryLiteral elements: (String, MMKVType)...) {
    for (pattern, type) in elements { set(type, for: pattern) }
  }

  /// Sets the type of a key, or of a prefix if it ends with an asterisk.
  public mutating func set(_ type: MMKVType, for pattern: String) {
    // By scalars, because an asterisk may combine with a following one into one character.
    if pattern.unicodeScalars.last == "*" {
      set(type, forAllWith: String(pattern.unicodeScalars.dropLast()))
    } else {
      set(type, forKey: pattern)
    }
  }

  /// Sets the type of an exact key, which may end with an asterisk.
  public mutating func set(_ type: MMKVType, forKey key: String) { exact[ByteKey(key)] = type }

  private mutating func set(_ type: MMKVType, forAllWith beginning: String) {
    let key = ByteKey(beginning)
    beginnings.removeAll { $0.beginning == key }
    let place = beginnings.firstIndex { $0.beginning.string.utf8.count < beginning.utf8.count } ?? beginnings.endIndex
    beginnings.insert((key, type), at: place)
  }

  public func type(of key: String) -> MMKVType {
    exact[ByteKey(key)] ?? beginnings.first { key.utf8.starts(with: $0.beginning.string.utf8) }?.type ?? .raw
  }

  public static func == (first: MMKVTypes, second: MMKVTypes) -> Bool {
    first.exact == second.exact && first.beginnings.elementsEqual(second.beginnings) { $0 == $1 }
  }
}

/// The type of a stored MMKV value, which the files do not record.
public enum MMKVType: String, Sendable, Hashable, CaseIterable {
  case bool, int32, uint32, int64, uint64, float, double, string
  /// Data, without the length that MMKV writes before it.
  case bytes
  /// A list of strings: a set of strings on Android.
  case strings
  /// A date, as stored on Apple's platforms.
  case date
  /// An `NSKeyedArchiver` archive, as objects are stored on Apple's platforms.
  case archive
  /// The raw bytes in the file. For strings and data they include the length.
  case raw
}
