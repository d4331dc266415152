/// A place between the entries of a cache, behind the one that a page ended with.
package struct EntryPlace: Hashable, Sendable {
  /// What the database has that entry under. As a place any bytes will do: what there is behind them comes next.
  package let databaseKey: [UInt8]

  package init(databaseKey: [UInt8]) { self.databaseKey = databaseKey }

  /// The place behind a key, whether or not there is such an entry.
  package init(after key: String) {
    databaseKey = withUTF8Bytes(of: key) { DatabaseKey().withDatabaseKey($0) { Array($0) } }
  }

  /// Whether it is among the keys that the database holds under digests, which come after all others.
  var isLong: Bool { databaseKey.first.map { $0 >= DatabaseKey.longMarker } ?? false }
}
