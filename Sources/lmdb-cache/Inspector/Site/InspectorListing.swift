import Foundation
import LMDBCaching

/// A part of the entry list for the page.
struct InspectorListing: Encodable {
  private(set) var entries: [EntryDescription] = []
  /// The place to continue from. Absent in JSON at the end.
  private(set) var next: String?
  /// The approximate number of entries examined.
  private(set) var looked = 0

  /// In bytes of UTF-8.
  static let greatestKey = 4 << 10
  static let greatestLength = 500
  /// Limits of a search before it answers with fewer entries: records, and nanoseconds.
  private static let greatestSearch = 50_000
  private static let searchTime: UInt64 = 250_000_000

  /// - Parameters:
  ///   - search: Text that keys must contain, ignoring case; empty for all.
  ///   - place: Where to continue.
  ///   - length: The most entries.
  init(
    of reader: CacheReader, prefix: String, search: String, after place: EntryPlace?, length: Int,
    isAbandoned: () -> Bool
  ) throws(CacheError) {
    let search = search.lowercased()
    let end = Platform.nanoseconds() + Self.searchTime
    var place = place
    repeat {
      let count = search.isEmpty ? length - entries.count : 1_000
      let page = try reader.page(withPrefix: prefix, after: place, limit: count)
      looked += count
      place = page.next
      for entry in page.entries where search.isEmpty || entry.key.lowercased().contains(search) {
        // There was one more than fits.
        if entries.count == length {
          place = EntryPlace(after: last)
          break
        }
        add(entry)
        last = entry.key
      }
    } while place != nil && entries.count < length && looked < Self.greatestSearch && Platform.nanoseconds() < end
      && !isAbandoned()
    next = place.map { Data($0.databaseKey).base64EncodedString() }
  }

  /// The last entry's uncut key.
  private var last = ""

  private mutating func add(_ entry: CacheEntry) {
    let isCut = entry.key.utf8.count > Self.greatestKey
    let key = isCut ? VisibleText.whole(Array(entry.key.utf8.prefix(Self.greatestKey))) : entry.key
    var description = EntryDescription(entry, key: key)
    description.isCut = isCut
    entries.append(description)
  }

  private enum CodingKeys: CodingKey { case entries, next, looked }

  /// Parses ``next`` of an earlier listing.
  static func place(_ text: String) throws(HTTPRefusal) -> EntryPlace {
    guard let key = Data(base64Encoded: text), 1...511 ~= key.count else {
      throw HTTPRefusal(400, "The list cannot be gone on with from there.")
    }
    return EntryPlace(databaseKey: Array(key))
  }
}

/// An entry and its value for the page.
struct InspectorEntry: Encodable {
  let entry: EntryDescription
  /// Whether a transform such as compression was applied. Absent in JSON if unread.
  let isTransformed: Bool?
  let views: [ValueView]

  /// In bytes. Longer values are not read.
  private static let greatestValue = 64 << 20

  /// `nil` if there is no such entry.
  init?(forKey key: String, in reader: CacheReader) throws {
    guard let found = try reader.entry(forKey: key) else { return nil }
    if found.size > Self.greatestValue {
      entry = EntryDescription(found)
      isTransformed = nil
      let size = Formatting.bytes(found.size)
      views = [
        ValueView(kind: .note, title: "Value", text: "It has \(size), and is not shown here. lmdb-cache get writes it.")
      ]
      return
    }
    guard let record = try reader.record(forKey: key) else { return nil }
    entry = EntryDescription(record.entry)
    isTransformed = record.isTransformed
    views = try ValueViews(of: record, in: reader).views
  }
}
