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
      try reader.archive(of: record).withUnsafeBytes { bytes in
        // Decoding says what is wrong.
        guard bytes.count.isMultiple(of: MemoryLayout<Element>.stride) else { return try "\(value(type))" }
        var text = "["
        for offset in stride(from: 0, to: bytes.count, by: MemoryLayout<Element>.stride) {
          if text.utf8.count > limit ?? .max {
            isCut = true
            return text + "…"
          }
          if offset > 0 { text += "," }
          text += bytes.loadUnaligned(fromByteOffset: offset, as: Element.self).description
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
      guard let notation = Self.notation(try reader.archive(of: record), limit: notationLimit) else {
        return nil
      }
      self = notation
      return
    // An array of bytes is already bytes.
    default: return nil
    }
    self.init(text, isCut: isCut)
  }

  static func diagnostic(_ archive: Data, limit: Int) throws -> ValueText {
    let diagnostic = try archive.withUnsafeBytes { try CBORDiagnostic($0.bytes, limit: limit) }
    return ValueText(diagnostic.text, isCut: diagnostic.isCut)
  }

  /// An `NSKeyedArchiver` archive; `nil` if it is invalid in any way.
  static func notation(_ archive: Data, limit: Int) -> ValueText? {
    guard let notation = try? KeyedArchiveNotation(archive, limit: limit) else { return nil }
    return ValueText(notation.text, isCut: notation.isCut)
  }
}
