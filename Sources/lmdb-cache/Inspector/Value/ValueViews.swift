import CBORCoding
import Foundation
import FoundationArchives
import LMDBCaching

/// The ways to show a value, best first, each limited to about 100 kB.
struct ValueViews {
  private(set) var views: [ValueView] = []
  private let record: EntryRecord
  private let reader: CacheReader

  private static let greatestText = 96 << 10
  private static let greatestDump = 4 << 10
  /// Longer values are not parsed.
  private static let greatestDocument = 4 << 20

  /// - Throws: If the archived bytes cannot be read.
  init(of record: EntryRecord, in reader: CacheReader) throws {
    self.record = record
    self.reader = reader
    let archive: Data
    do throws(CacheError) {
      archive = try reader.archive(of: record)
    } catch {
      // A transform's output, which only the program that wrote it can undo.
      views.append(ValueView(kind: .note, title: "Value", text: error.message))
      dump(record.stored)
      return
    }
    do {
      if let value = try ValueText(of: record, in: reader, limit: Self.greatestText) {
        add(value, Self.title(of: record.format))
      }
    } catch {
      views.append(ValueView(kind: .note, title: "Value", text: Self.message(error)))
    }
    if views.isEmpty { addForm(of: archive) }
    dump(archive)
  }

  private static func title(of format: ArchiveFormat) -> String {
    switch format {
    case .cbor: "CBOR"
    case .objectGraph: "Objects"
    case .keyedArchive: "Archive"
    default: "Value"
    }
  }

  private static func message(_ error: any Error) -> String {
    (error as? CacheError)?.message ?? "The value cannot be decoded: \(error)"
  }

  // MARK: By what the bytes look like

  // An unreadable form is treated as another form, whatever the reason.

  private mutating func addForm(of data: Data) {
    if let kind = ImageKind(data) {
      views.append(
        record.entry.size <= InspectorSite.greatestImage
          ? ValueView(kind: .image, title: kind.name)
          : ValueView(kind: .note, title: kind.name, text: InspectorSite.tooLargeImage))
    } else if data.count <= Self.greatestDocument, let list = propertyList(data) {
      add(list, "Property list")
    } else if VisibleText.isText(data, upTo: Self.greatestText, allowing: ["\n", "\r", "\t"])
      || record.format == .string
    {
      if data.count <= Self.greatestDocument, Self.isJSON(data) {
        add(ValueText(String(decoding: data, as: UTF8.self)), "JSON")
      }
      let shown = VisibleText.whole(data.prefix(Self.greatestText))
      views.append(
        ValueView(
          kind: .text, title: "Text", text: Formatting.lines(shown),
          shown: data.count > Self.greatestText ? shown.utf8.count : nil))
    } else if let value = Self.cbor(data) {
      add(value, "CBOR")
    }
  }

  private static func isJSON(_ data: Data) -> Bool {
    guard let first = data.first(where: { $0 > 0x20 }), first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else {
      return false
    }
    return (try? JSONSerialization.jsonObject(with: data)) != nil
  }

  /// A property list of either form, including `NSKeyedArchiver` archives.
  private func propertyList(_ data: Data) -> ValueText? {
    let isBinary = data.starts(with: "bplist".utf8)
    guard isBinary || data.starts(with: "<?xml".utf8) || data.starts(with: "<plist".utf8) else { return nil }
    return ValueText.propertyList(data, limit: Self.greatestText)
  }

  /// Requires an array, a map or a tag: any few bytes would be a number.
  private static func cbor(_ data: Data) -> ValueText? {
    guard data.count <= greatestDocument, let first = data.first, 4...6 ~= first >> 5, data.count > 1 else {
      return nil
    }
    return try? ValueText.diagnostic(data, limit: greatestText)
  }

  // MARK: Views

  private mutating func add(_ value: ValueText, _ title: String) {
    let notation = IndentedNotation(value.text, limit: Self.greatestText)
    let isCut = value.isCut || notation.isCut
    views.append(
      ValueView(
        kind: .notation, title: title, text: Formatting.lines(notation.text),
        shown: isCut ? notation.text.utf8.count : nil)
    )
  }

  private mutating func dump(_ data: Data) {
    views.append(
      ValueView(
        kind: .hex, title: "Bytes", text: HexDump.text(data.prefix(Self.greatestDump)),
        shown: data.count > Self.greatestDump ? Self.greatestDump : nil))
  }
}

/// One way to show a value.
struct ValueView: Encodable {
  enum Kind: String, Encodable {
    /// Plain lines.
    case text
    case notation
    case hex
    /// Fetched from a separate address.
    case image
    /// A message instead of the value.
    case note
  }

  let kind: Kind
  let title: String
  /// Absent in JSON for an image.
  var text: String?
  /// The number of bytes shown, if not all.
  var shown: Int?
}

/// Puts each element of JSON, CBOR notation or archive notation on a separate line. The elements' text is unchanged:
/// numbers keep their digits.
struct IndentedNotation {
  private(set) var text = ""
  private(set) var isCut = false
  /// Deeper levels are not indented further.
  private static let greatestIndentation = 40

  /// - Parameter limit: The most bytes of text, plus some for completing an element.
  init(_ source: String, limit: Int) {
    var depth = 0
    var quote: UInt8?
    var isEscaped = false
    var bytes: [UInt8] = []
    bytes.reserveCapacity(min(limit, 2 * source.utf8.count))
    func newLine() {
      bytes.append(UInt8(ascii: "\n"))
      bytes.append(
        contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * max(0, min(depth, Self.greatestIndentation))))
    }
    /// Replace spaces between elements.
    var isAfterBreak = false
    var isOpened = false
    for byte in source.utf8 {
      if let current = quote {
        bytes.append(byte)
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == current {
          quote = nil
        }
      } else {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"):
          if !isAfterBreak, !isOpened, bytes.last != UInt8(ascii: " ") { bytes.append(UInt8(ascii: " ")) }
          continue
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          depth -= 1
          // Empty ones stay on their line.
          if !isOpened { newLine() }
          bytes.append(byte)
        default:
          if isOpened {
            newLine()
          }
          if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") { quote = byte }
          bytes.append(byte)
          if byte == UInt8(ascii: ":") { bytes.append(UInt8(ascii: " ")) }
          if byte == UInt8(ascii: ",") { newLine() }
        }
        isOpened = byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
        isAfterBreak = isOpened || byte == UInt8(ascii: ",") || byte == UInt8(ascii: ":")
        if isOpened { depth += 1 }
      }
      if bytes.count > limit {
        isCut = true
        break
      }
    }
    // Drops a character that was cut in the middle.
    text = isCut ? VisibleText.whole(bytes) + "…" : String(decoding: bytes, as: UTF8.self)
  }
}

/// A hex dump: sixteen bytes a line, with offsets and ASCII.
enum HexDump {
  static func text(_ bytes: some Sequence<UInt8>) -> String {
    let bytes = Array(bytes)
    return stride(from: 0, to: bytes.count, by: 16).map { place in
      let line = bytes[place..<min(place + 16, bytes.count)]
      let digits = (place..<place + 16).map { $0 < bytes.count ? String(format: "%02x", bytes[$0]) : "  " }
      let characters = line.map { 0x20...0x7E ~= $0 ? String(UnicodeScalar($0)) : "." }
      return String(format: "%08x  ", place) + digits[..<8].joined(separator: " ") + "  "
        + digits[8...].joined(separator: " ") + "  " + characters.joined() + "\n"
    }.joined()
  }
}

/// Image types that cannot contain scripts, recognized by their first bytes.
enum ImageKind: String {
  case png = "image/png"
  case jpeg = "image/jpeg"
  case gif = "image/gif"
  case webp = "image/webp"

  /// `nil` for any other data.
  init?(_ data: Data) {
    let beginning = [UInt8](data.prefix(12))
    switch true {
    case beginning.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]): self = .png
    case beginning.starts(with: [0xFF, 0xD8, 0xFF]): self = .jpeg
    case beginning.starts(with: "GIF87a".utf8), beginning.starts(with: "GIF89a".utf8): self = .gif
    case beginning.count == 12 && beginning.starts(with: "RIFF".utf8) && beginning[8...].elementsEqual("WEBP".utf8):
      self = .webp
    default: return nil
    }
  }

  var name: String { "\(self)".uppercased() }
}
