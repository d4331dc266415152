import Foundation
import LMDBCaching

/// A part of the list of entries, as the page gets it.
struct InspectorListing: Encodable {
  struct Entry: Encodable {
    let entry: EntryDescription
    /// Whether the key is longer than what can be asked for; it is cut then.
    let isCut: Bool

    private enum CodingKeys: CodingKey { case isCut }

    func encode(to encoder: any Encoder) throws {
      try entry.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(isCut, forKey: .isCut)
    }
  }

  private(set) var entries: [Entry] = []
  /// Where to go on. Absent in JSON: there is nothing more.
  private(set) var next: String?
  /// How many entries were looked at, about.
  private(set) var looked = 0

  /// In bytes of UTF-8.
  static let greatestKey = 4 << 10
  static let greatestLength = 500
  /// What is looked at before there is an answer, though it is not full: records, and nanoseconds.
  private static let greatestSearch = 50_000
  private static let searchTime: UInt64 = 250_000_000

  /// - Parameters:
  ///   - search: What a key has to hold, in upper or lower case; empty: nothing.
  ///   - place: Where to go on.
  ///   - length: How many entries there are at most.
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

  /// The key of the last entry, as a whole.
  private var last = ""

  private mutating func add(_ entry: CacheEntry) {
    let isCut = entry.key.utf8.count > Self.greatestKey
    let key = isCut ? VisibleText.whole(Array(entry.key.utf8.prefix(Self.greatestKey))) : entry.key
    entries.append(Entry(entry: EntryDescription(entry, key: key), isCut: isCut))
  }

  private enum CodingKeys: CodingKey { case entries, next, looked }

  /// What ``next`` of an earlier listing says.
  static func place(_ text: String) throws(HTTPRefusal) -> EntryPlace {
    guard let key = Data(base64Encoded: text), 1...511 ~= key.count else {
      throw HTTPRefusal(400, "The list cannot be gone on with from there.")
    }
    return EntryPlace(databaseKey: Array(key))
  }
}
