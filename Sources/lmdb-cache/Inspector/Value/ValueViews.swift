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
    if let archive = ValueText.notation(data, limit: Self.greatestText) { return archive }
    guard let value = try? PropertyList.value(of: data), let bytes = try? CBOREncoder().encode(value) else {
      return nil
    }
    return try? ValueText.diagnostic(Data(bytes), limit: Self.greatestText)
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
