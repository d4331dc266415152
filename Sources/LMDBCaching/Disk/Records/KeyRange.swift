import LMDB

/// A stretch of LMDB's keys in which the keys with some prefix are.
struct KeyRange {
  let start: [UInt8]
  /// Every key of the stretch starts with it, and with none of the markers unless it is one.
  private let prefix: [UInt8]
  /// Whether it is one of keys that LMDB holds under digests.
  let isLong: Bool

  /// The plain keys, then the long ones; the empty key is at the start of the long ones.
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
