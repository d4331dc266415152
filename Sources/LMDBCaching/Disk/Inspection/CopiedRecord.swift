import Foundation

struct CopiedRecord {
  /// The cache's key.
  let key: [UInt8]
  let bytes: [UInt8]

  init(key: [UInt8], bytes: [UInt8]) {
    self.key = key
    self.bytes = bytes
  }

  /// A record without a header of this version.
  ///
  /// - Parameter record: Its first bytes.
  init(unreadable record: UnsafeRawBufferPointer, databaseKey: UnsafeRawBufferPointer) {
    // Only the record holds all of a long key; the database key has its beginning.
    let isLong = databaseKey.first == DatabaseKey.longMarker
    key = Array(isLong ? databaseKey.dropFirst().prefix(DatabaseKey.longPrefixLength) : databaseKey[...])
    // Too short for a valid header, so `completed` throws.
    bytes = Array(record.prefix(RecordHeader.baseSize))
  }

  /// Verifies the checksum, and reads the value.
  ///
  /// - Parameter reading: Reads a value of the value log; returns `nil` if it is missing.
  /// - Returns: `nil` if the value is not where it was.
  /// - Throws: `.corruptedRecord`, `.unsupportedRecord`, or the errors of `reading`.
  func completed(
    reading: (ValuePointer, String) throws(CacheError) -> Data?
  ) throws(CacheError) -> EntryRecord? {
    let key = String(decoding: self.key, as: UTF8.self)
    return try bytes.withBytes { (bytes) throws(CacheError) -> EntryRecord? in
      guard let header = RecordHeader(bytes) else { throw .unreadable(bytes, key) }
      let isIntact = self.key.withBytes { header.isIntact(bytes, key: $0) }
      guard isIntact else { throw .corrupted(key) }
      let entry = CacheEntry(key, header, bytes)
      guard let pointer = ValuePointer(in: bytes, header) else {
        return EntryRecord(entry: entry, header: header.detached, stored: Data(header.payload(of: bytes)))
      }
      return try reading(pointer, key).map { EntryRecord(entry: entry, header: header.detached, stored: $0) }
    }
  }
}
