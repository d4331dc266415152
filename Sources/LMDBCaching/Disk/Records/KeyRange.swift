import LMDB

/// A range of LMDB keys that contains the keys with a prefix.
struct KeyRange {
  let start: [UInt8]
  /// The prefix of every key in the range.
  private let prefix: [UInt8]
  /// Whether the range is of long keys, stored under digests.
  let isLong: Bool

  /// Plain keys, then long ones, which start with the empty key.
  static func ranges(ofPrefix prefix: UnsafeRawBufferPointer) -> [KeyRange] {
    [plain(ofPrefix: prefix), long(ofPrefix: prefix)]
  }

  static func plain(ofPrefix prefix: UnsafeRawBufferPointer) -> KeyRange {
    KeyRange(start: Array(prefix.prefix(DatabaseKey.maximumLength)), prefix: Array(prefix), isLong: false)
  }

  static func long(ofPrefix prefix: UnsafeRawBufferPointer) -> KeyRange {
    let start = [DatabaseKey.longMarker] + prefix.prefix(DatabaseKey.longPrefixLength)
    return KeyRange(start: start, prefix: start, isLong: true)
  }

  func first(_ cursor: borrowing Cursor) throws(LMDBError) -> Cursor.Entry? {
    if start.isEmpty { return try cursor.first() }
    return try start.withBytes { (start) throws(LMDBError) in try cursor.seek(toKeyAtOrAfter: start) }
  }

  func contains(_ key: UnsafeRawBufferPointer) -> Bool {
    guard let first = key.first else { return false }
    if !isLong && first >= DatabaseKey.longMarker { return false }
    return prefix.withUnsafeBytes { key.hasPrefix($0) }
  }
}
