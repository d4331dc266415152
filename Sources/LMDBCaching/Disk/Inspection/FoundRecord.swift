import LMDB

/// A record at the reader's position, valid until it moves on.
struct FoundRecord {
  /// Enough for the longest header with the most tags, and some more.
  private static let firstPart = 1_024

  let header: RecordHeader
  /// The cache's key.
  let key: UnsafeRawBufferPointer
  /// Whether the record is from a journal.
  let isWaiting: Bool
  /// At least the header, the key, and the pointer, if any.
  private let beginning: UnsafeRawBufferPointer
  private let value: UnmappedValue?

  /// A committed record. Returns `nil` for another version's.
  init?(_ databaseKey: UnsafeRawBufferPointer, _ value: UnmappedValue) throws(ReadingFailure) {
    var beginning = try fromDatabase { () throws(DataFileError) in try value.beginning(Self.firstPart) }
    guard var header = RecordHeader(beginning: beginning, size: value.size) else { return nil }
    if Self.needed(header) > beginning.count {
      beginning = try fromDatabase { [header] () throws(DataFileError) in try value.beginning(Self.needed(header)) }
      // The page may have been overwritten in between, and so hold another header.
      guard let again = RecordHeader(beginning: beginning, size: value.size), Self.needed(again) <= beginning.count
      else { return nil }
      header = again
    }
    guard let key = DatabaseKey.key(ofDatabaseKey: databaseKey, record: beginning, header: header) else { return nil }
    self.header = header
    self.key = key
    self.beginning = beginning
    self.value = value
    isWaiting = false
  }

  /// The bytes of the header, the key and the pointer.
  private static func needed(_ header: RecordHeader) -> Int {
    header.payloadOffset + (header.flags.contains(.pointer) ? ValuePointer.size : 0)
  }

  /// A whole record from a journal.
  init?(_ databaseKey: UnsafeRawBufferPointer, waiting record: UnsafeRawBufferPointer) {
    guard let header = RecordHeader(record),
      let key = DatabaseKey.key(ofDatabaseKey: databaseKey, record: record, header: header)
    else { return nil }
    self.header = header
    self.key = key
    beginning = record
    value = nil
    isWaiting = true
  }

  /// The value's place, if it is in the value log.
  var pointer: ValuePointer? {
    guard header.flags.contains(.pointer) else { return nil }
    return ValuePointer(UnsafeRawBufferPointer(rebasing: beginning[header.payloadOffset...]))
  }

  /// The value's length, wherever it is stored.
  var valueLength: Int { pointer.map { max(0, $0.length) } ?? header.payloadLength }

  var entry: CacheEntry { CacheEntry(String(utf8: key), header, size: valueLength) }

  func copy() throws(ReadingFailure) -> CopiedRecord {
    guard let value else { return CopiedRecord(key: Array(key), bytes: Array(beginning)) }
    // The next read may overwrite the key.
    let key = Array(key)
    return CopiedRecord(key: key, bytes: Array(try fromDatabase { () throws(DataFileError) in try value.bytes() }))
  }
}
