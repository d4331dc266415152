import Foundation

extension ValueTransforms {
  func apply(
    to payload: UnsafeRawBufferPointer, _ header: RecordHeader, _ key: CacheKey
  ) throws(CacheError) -> Data? {
    try apply(to: payload, TransformedEntry(header, key))
  }

  func restore(
    _ payload: UnsafeRawBufferPointer, _ header: RecordHeader, _ key: CacheKey
  ) throws(CacheError) -> Data {
    try restore(payload, TransformedEntry(header, key))
  }
}

extension TransformedEntry {
  fileprivate init(_ header: RecordHeader, _ key: CacheKey) {
    self.init(
      key: key.string, utf8: key.utf8, format: header.format, expires: header.expires, cost: header.cost,
      created: header.created, refresh: header.refresh, kept: header.kept)
  }
}
