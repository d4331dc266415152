import LMDB

/// The cache's contents, gathered while the database's structure is verified.
final class CacheContents {
  private var metadata: CacheMetadata.Reading?
  private var digest: UInt64 = 0
  /// Totals computed from the entries.
  private var found = CacheMetadata(durability: .ordered)
  private var count: Int { found.count + unreadable }
  /// Value log usage: the counts in the database, and the totals of the entries.
  private var countedUsage: [UInt64: SegmentUsage] = [:]
  private var foundUsage: [UInt64: SegmentUsage] = [:]
  /// Unreadable records, such as those of a newer version.
  private var unreadable = 0
  /// Whether to verify the checksum of each record that fits in a tree page.
  private let checksRecords: Bool
  private(set) var damagedRecords = 0

  init(checksRecords: Bool = false) { self.checksRecords = checksRecords }

  func note(_ key: UnsafeRawBufferPointer, _ value: DataFileValue) throws(DataFileError) {
    let (record, size) = (value.beginning, value.size)
    if key.first == DatabaseKey.reservedMarker {
      if key.elementsEqual(CacheMetadata.key) { metadata = CacheMetadata.read(record) }
      if let segment = SegmentUsage.segment(ofKey: key) { countedUsage[segment] = SegmentUsage(record) }
      return
    }
    if let header = RecordHeader(beginning: record, size: size) {
      found.add(header)
      if header.flags.contains(.pointer) {
        // The pointer follows the key, which may be long.
        let pointer = try value.withEnd(ValuePointer.size) { ValuePointer($0) }
        foundUsage[pointer.segment, default: .init()].add(pointer, keyLength: key.count)
      }
    } else {
      unreadable += 1
    }
    digest &+= RecordHeader.digest(of: record)
    if checksRecords, record.count == size, !isIntact(key, record) { damagedRecords += 1 }
  }

  private func isIntact(_ key: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer) -> Bool {
    guard let header = RecordHeader(record) else { return record.count > 4 && record[4] > RecordHeader.version }
    guard let cacheKey = DatabaseKey.key(ofDatabaseKey: key, record: record, header: header) else { return false }
    return header.isIntact(record, key: cacheKey)
  }

  var hasMetadata: Bool { if case .metadata? = metadata { true } else { false } }

  struct Corrected {
    let metadata: CacheMetadata
    let usage: [UInt64: SegmentUsage]
  }

  /// Returns `nil` if the counts are right. A checksum does not prove them: any process with write access can forge it.
  var corrected: Corrected? {
    guard case .metadata(var metadata)? = metadata,
      (metadata.count, metadata.cost, metadata.expiring) != (count, found.cost, found.expiring)
        || countedUsage != foundUsage
    else { return nil }
    metadata.count = count
    metadata.cost = found.cost
    metadata.expiring = found.expiring
    return Corrected(metadata: metadata, usage: foundUsage)
  }

  enum Judgement {
    case sound
    /// A newer version; the opening refuses it.
    case other
    case damaged(String)
  }

  var judgement: Judgement {
    switch metadata {
    case .none:
      // A new database, before its first transaction.
      return count == 0 ? .sound : .damaged("the cache's own record is missing")
    case .newerVersion: return .other
    case .corrupted: return .damaged("the cache's own record is damaged")
    case .metadata(let metadata):
      return metadata.digest == digest ? .sound : .damaged("the entries are not those of the last transaction")
    }
  }
}
