import CBORCoding
import Foundation
import FoundationArchives
import LMDBCaching

/// A binary value as text.
struct ValueText {
  let text: String
  /// Whether the limit cut it.
  let isCut: Bool

  init(_ text: String, isCut: Bool = false) {
    self.text = text
    self.isCut = isCut
  }

  /// `nil` if the stored bytes are the best form.
  ///
  /// - Parameter limit: The approximate limit in bytes of text. By default 1 MiB for notations, and no limit for lists
  ///   of numbers.
  init?(of record: EntryRecord, in reader: CacheReader, limit: Int? = nil) throws {
    func value<V: Codable>(_ type: V.Type) throws -> V { try reader.value(type, of: record) }
    var isCut = false
    func list<Element: BitwiseCopyable & CustomStringConvertible & Codable>(_ type: [Element].Type) throws -> String {
      // Decoding the list and its elements as strings would take many times its size.
      try unsafe reader.archive(of: record).withUnsafeBytes { bytes in
        // Decoding says what is wrong.
        guard bytes.count.isMultiple(of: MemoryLayout<Element>.stride) else { return try "\(value(type))" }
        var text = "["
        for offset in stride(from: 0, to: bytes.count, by: MemoryLayout<Element>.stride) {
          if text.utf8.count > limit ?? .max {
            isCut = true
            return text + "…"
          }
          if offset > 0 { text += "," }
          text += unsafe bytes.loadUnaligned(fromByteOffset: offset, as: Element.self).description
        }
        return text + "]"
      }
    }
    let notationLimit = limit ?? 1 << 20
    let text: String
    switch record.format {
    case .bool: text = try value(Bool.self).description
    case .signedInteger: text = try value(Int64.self).description
    case .unsignedInteger: text = try value(UInt64.self).description
    case .double: text = try value(Double.self).description
    case .float: text = try value(Float.self).description
    case .date:
      let date = try value(Date.self)
      // Dates outside any calendar are printed as seconds since 2001.
      text = date.iso8601Text(includingFractionalSeconds: true) ?? date.timeIntervalSinceReferenceDate.description
    case .uuid: text = try value(UUID.self).uuidString
    case .url: text = try value(URL.self).absoluteString
    case .int8Array: text = try list([Int8].self)
    case .int16Array: text = try list([Int16].self)
    case .int32Array: text = try list([Int32].self)
    case .int64Array: text = try list([Int64].self)
    case .uint16Array: text = try list([UInt16].self)
    case .uint32Array: text = try list([UInt32].self)
    case .uint64Array: text = try list([UInt64].self)
    case .floatArray: text = try list([Float].self)
    case .doubleArray: text = try list([Double].self)
    case .cbor, .objectGraph:
      self = try Self.diagnostic(reader.archive(of: record), limit: notationLimit)
      return
    case .keyedArchive:
      guard let list = Self.propertyList(try reader.archive(of: record), limit: notationLimit) else { return nil }
      self = list
      return
    // An array of bytes is already bytes.
    default: return nil
    }
    self.init(text, isCut: isCut)
  }

  static func diagnostic(_ archive: Data, limit: Int) throws -> ValueText {
    let diagnostic = try CBORDiagnostic(archive.bytes, limit: limit)
    return ValueText(diagnostic.text, isCut: diagnostic.isCut)
  }

  /// A property list, such as an `NSKeyedArchiver` archive; `nil` if it is invalid in any way.
  static func propertyList(_ data: Data, limit: Int) -> ValueText? {
    guard let list = try? unsafe PropertyListSerialization.propertyList(from: data, format: nil),
      var value = PlainValue(list, length: data.count)
    else { return nil }
    var outline = ArchiveOutline(value)
    if let root = outline?.root() { value = root }
    guard let bytes = try? CBOREncoder().encode(value), let text = try? diagnostic(Data(bytes), limit: limit) else {
      return nil
    }
    return ValueText(text.text, isCut: text.isCut || outline?.isCut == true)
  }
}

/// The objects of an `NSKeyedArchiver` archive as values, without creating them: their fields, and their class as
/// "$class".
private struct ArchiveOutline {
  private static let maximumDepth = 128

  private let top: PlainValue
  private let objects: [PlainValue]
  /// The values left to show, as objects may refer to each other in circles.
  private var left = 1 << 16
  private(set) var isCut = false

  /// Returns `nil` for other property lists.
  init?(_ list: PlainValue) {
    guard list["$archiver"] == .string("NSKeyedArchiver"), case .array(let objects)? = list["$objects"],
      let top = list["$top"]
    else { return nil }
    self.top = top
    self.objects = objects
  }

  mutating func root() -> PlainValue {
    let top = resolved(top, 0)
    guard case .dictionary(let entries) = top, entries.count == 1, let root = top["root"] else { return top }
    return root
  }

  private func referent(_ value: PlainValue?) -> PlainValue? {
    guard case .dictionary(let entries)? = value, entries.count == 1, case .integer(let number)? = value?["CF$UID"],
      let index = Int(exactly: number)
    else { return nil }
    return objects.indices.contains(index) && index > 0 ? objects[index] : .null
  }

  private mutating func resolved(_ value: PlainValue, _ depth: Int) -> PlainValue {
    left -= 1
    guard left >= 0, depth <= Self.maximumDepth else {
      isCut = true
      return .string("…")
    }
    if let referent = referent(value) { return resolved(referent, depth + 1) }
    switch value {
    case .array(let values): return .array(values.map { resolved($0, depth + 1) })
    case .dictionary(let entries):
      let name = referent(value["$class"])?["$classname"]
      var fields = PlainValue.dictionary(
        entries.map { .init(key: $0.key, value: $0.key == "$class" ? name ?? .null : resolved($0.value, depth + 1)) })
      if case .array(let values)? = fields["NS.objects"] {
        switch name {
        case .string("NSArray"), .string("NSMutableArray"): fields = .array(values)
        case .string("NSDictionary"), .string("NSMutableDictionary"):
          if let pairs = Self.pairs(fields["NS.keys"], values) { fields = pairs }
        default: break
        }
      }
      return fields
    default: return value
    }
  }

  /// A dictionary, if the keys are different strings.
  private static func pairs(_ keys: PlainValue?, _ values: [PlainValue]) -> PlainValue? {
    guard case .array(let keys)? = keys, keys.count == values.count else { return nil }
    let names = keys.compactMap { if case .string(let name) = $0 { name } else { nil } }
    guard Set(names).count == values.count else { return nil }
    return .dictionary(zip(names, values).map { .init(key: $0, value: $1) })
  }
}

extension PlainValue {
  fileprivate subscript(key: String) -> PlainValue? {
    guard case .dictionary(let entries) = self else { return nil }
    return entries.first { $0.key == key }?.value
  }
}
