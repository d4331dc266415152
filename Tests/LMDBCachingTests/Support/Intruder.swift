import Foundation
import TestSupport

@testable import LMDBCaching

/// An attacker who can write to a closed cache's files and knows the format, but no key.
struct Intruder {
  struct Record {
    /// The header without the tags.
    var header: RecordHeader
    var tags: EntryTags?
    var payload: [UInt8]

    /// The transform identifiers at the start of the payload.
    var transforms: [UInt8] {
      get { payload.isEmpty ? [] : Array(payload[1...Int(payload[0])]) }
      set { payload.replaceSubrange(0...Int(payload[0]), with: [UInt8(newValue.count)] + newValue) }
    }
  }

  let directory: CacheDirectory

  func record(_ key: String) throws -> Record {
    var bytes: [UInt8]?
    try ForgedDatabase.rewrite(directory.path, Array(key.utf8)) { old in
      bytes = old
      return old
    }
    let record = bytes?.withBytes { record in
      RecordHeader(record).map {
        Record(
          header: $0.detached, tags: $0.tags.map(EntryTags.init(copying:)), payload: Array($0.payload(of: record)))
      }
    }
    guard let record = record ?? nil else { throw CacheError(.corruptedRecord, "There is no record of \(key).") }
    return record
  }

  /// Replaces a record, with a valid checksum. Adjusts the cache's totals, because a mismatch would count as damage and
  /// rebuild the cache.
  func put(_ record: Record, _ key: String) throws {
    var header = record.header
    header.tags = record.tags?.hashes
    let keyBytes = Array(key.utf8)
    var new = [UInt8](repeating: 0, count: header.payloadOffset) + record.payload
    record.payload.withBytes { payload in
      new.withMutableBytes { bytes in
        header.write(
          to: bytes, keyHash: keyBytes.withBytes(RecordHeader.keyHash), payloadHash: RecordHeader.payloadHash(payload))
      }
    }
    var old: [UInt8] = []
    try ForgedDatabase.rewrite(directory.path, keyBytes) { found in
      old = found ?? []
      return new
    }
    try ForgedDatabase.rewrite(directory.path, CacheMetadata.key) { found in
      guard let found, case .metadata(var metadata) = found.withBytes({ CacheMetadata.read($0) }) else { return found }
      old.withBytes { old in
        new.withBytes { new in
          if let header = RecordHeader(old) { metadata.subtract(header) }
          metadata.replace(RecordHeader.digest(of: old), by: RecordHeader.digest(of: new))
          if let header = RecordHeader(new) { metadata.add(header) }
        }
      }
      return metadata.stored
    }
  }

  func change(_ key: String, _ body: (inout Record) -> Void) throws {
    var record = try record(key)
    body(&record)
    try put(record, key)
  }
}
