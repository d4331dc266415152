import Foundation

extension ValueTransforms {
  func apply(
    to payload: UnsafeRawBufferPointer, _ header: RecordHeader, _ key: CacheKey
  ) throws(CacheError) -> Data? {
    try apply(to: payload, TransformedEntry(header, header.tags, key))
  }

  /// - Parameter tags: The record's tags, used instead of the header's.
  func restore(
    _ payload: UnsafeRawBufferPointer, _ header: RecordHeader, _ tags: EntryTags?, _ key: CacheKey
  ) throws(CacheError) -> Data {
    try withExtendedLifetime(tags) { () throws(CacheError) in
      try restore(payload, TransformedEntry(header, tags?.hashes, key))
    }
  }
}

extension TransformedEntry {
  fileprivate init(_ header: RecordHeader, _ tags: TagHashes?, _ key: CacheKey) {
    self.init(
      key: key.string, utf8: key.utf8, format: header.format, expires: header.expires, cost: header.cost,
      created: header.created, refresh: header.refresh, kept: header.kept, tags: tags)
  }
}
