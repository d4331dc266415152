/// A position in a list of entries, after the last one of a page.
package struct EntryPlace: Hashable, Sendable {
  /// The database key of that entry; any bytes are valid.
  package let databaseKey: [UInt8]

  package init(databaseKey: [UInt8]) { self.databaseKey = databaseKey }

  /// The position after a key, whether it exists or not.
  package init(after key: String) {
    databaseKey = withUTF8Bytes(of: key) { DatabaseKey().withDatabaseKey($0) { Array($0) } }
  }

  /// Whether the position is among the long keys, stored under digests, which come last.
  var isLong: Bool { databaseKey.first.map { $0 >= DatabaseKey.longMarker } ?? false }
}
