import Foundation
import LMDB

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
    try inDatabase { environment in
      let bytes = try environment.withReadTransaction { (txn) throws(LMDBError) in
        try withUTF8Bytes(of: key) { (key) throws(LMDBError) in
          try txn.withValue(forKey: key) { (value) throws(LMDBError) in [UInt8](value) }
        }
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
  }

  /// Replaces a record, with a valid checksum.
  func put(_ record: Record, _ key: String) throws {
    var header = record.header
    header.tags = record.tags?.hashes
    let keyBytes = Array(key.utf8)
    var bytes = [UInt8](repeating: 0, count: header.payloadOffset) + record.payload
    record.payload.withBytes { payload in
      bytes.withMutableBytes { bytes in
        header.write(
          to: bytes, keyHash: keyBytes.withBytes(RecordHeader.keyHash), payloadHash: RecordHeader.payloadHash(payload))
      }
    }
    try inDatabase { environment in
      let txn = try environment.beginWrite()
      try keyBytes.withBytes { key in
        try bytes.withBytes { value in
          let old = try txn.withValue(forKey: key) { (value) throws(LMDBError) in [UInt8](value) }
          try txn.put(value, forKey: key)
          try putMetadata(replacing: old ?? [], by: value, in: txn)
        }
      }
      try txn.commit()
    }
  }

  /// Adjusts the cache's totals, because a mismatch would count as damage and rebuild the cache.
  private func putMetadata(
    replacing old: [UInt8], by new: ByteView, in txn: borrowing WriteTransaction
  ) throws {
    try CacheMetadata.key.withBytes { key in
      let found = try txn.withValue(forKey: key) { (value) throws(LMDBError) in [UInt8](value) }
      guard let found, case .metadata(var metadata) = found.withBytes({ CacheMetadata.read($0) }) else {
        throw CacheError(.corruptedRecord, "There is no metadata.")
      }
      old.withBytes { old in
        if let header = RecordHeader(old) { metadata.subtract(header) }
        metadata.replace(RecordHeader.digest(of: old), by: RecordHeader.digest(of: new))
      }
      if let header = RecordHeader(new) { metadata.add(header) }
      try metadata.stored.withBytes { try txn.put($0, forKey: key) }
    }
  }

  func change(_ key: String, _ body: (inout Record) -> Void) throws {
    var record = try record(key)
    body(&record)
    try put(record, key)
  }

  private func inDatabase<R>(_ body: (Environment) throws -> R) throws -> R {
    var options = Environment.Options()
    options.mapSize = 1 << 30
    let environment = try Environment.open(directory: directory.path, options: options)
    defer { environment.close() }
    return try body(environment)
  }
}
