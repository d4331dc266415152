import LMDBCaching

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
