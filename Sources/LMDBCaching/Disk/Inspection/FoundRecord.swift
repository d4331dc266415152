import LMDB

/// A record where a look has come to it. It is valid until the look goes on.
struct FoundRecord {
  /// The longest header with the most tags, and some of what follows.
  private static let firstPart = 1_024

  let header: RecordHeader
  /// The cache's key.
  let key: UnsafeRawBufferPointer
  /// Whether it is of a journal.
  let isWaiting: Bool
  /// The header, the key, and the pointer to the value if there is one; or more.
  private let beginning: UnsafeRawBufferPointer
  private let value: UnmappedValue?

  /// A committed one. Returns `nil` if it is none of this version's.
  init?(_ databaseKey: UnsafeRawBufferPointer, _ value: UnmappedValue) throws(ReadingFailure) {
    var beginning = try fromDatabase { () throws(DataFileError) in try value.beginning(Self.firstPart) }
    guard var header = RecordHeader(beginning: beginning, size: value.size) else { return nil }
    if Self.needed(header) > beginning.count {
      beginning = try fromDatabase { [header] () throws(DataFileError) in try value.beginning(Self.needed(header)) }
      // Somebody may have written over the page meanwhile, so that it is another header.
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

  /// Bytes of the header, the key and the pointer to the value.
  private static func needed(_ header: RecordHeader) -> Int {
    header.payloadOffset + (header.flags.contains(.pointer) ? ValuePointer.size : 0)
  }

  /// One of a journal, all of it.
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

  /// Where its value is, if that is in the value log.
  var pointer: ValuePointer? {
    guard header.flags.contains(.pointer) else { return nil }
    return ValuePointer(UnsafeRawBufferPointer(rebasing: beginning[header.payloadOffset...]))
  }

  /// The length of the value, wherever it is.
  var valueLength: Int { pointer.map { max(0, $0.length) } ?? header.payloadLength }

  var entry: CacheEntry { CacheEntry(String(utf8: key), header, size: valueLength) }

  /// A copy of all of it.
  func copy() throws(ReadingFailure) -> CopiedRecord {
    guard let value else { return CopiedRecord(key: Array(key), bytes: Array(beginning)) }
    // The key may be in what is read next.
    let key = Array(key)
    return CopiedRecord(key: key, bytes: Array(try fromDatabase { () throws(DataFileError) in try value.bytes() }))
  }
}
