import Foundation

package struct ImportedEntry: Sendable {
  package let key: String
  let format: ArchiveFormat
  let payload: Data
  /// Nanoseconds since 1970; `nil` for the time of storing.
  let created: Int64?
  let lastAccess: Int64?
  /// Nanoseconds since 1970; 0 for never.
  let expires: Int64

  package var valueSize: Int { payload.count }

  /// Approximate bytes.
  package var size: Int { key.utf8.count + payload.count + RecordHeader.baseSize }

  /// - Throws: `.invalidArgument` for an overlong key or value, `.encodingFailed`.
  package init(
    key: String, value: ImportedValue, created: Int64?, lastAccess: Int64?, expires: Int64
  ) throws(CacheError) {
    (format, payload) = try value.archive()
    try DiskStore.checkLengths(key, key.utf8.count, payload.count)
    self.key = key
    self.created = created
    self.lastAccess = lastAccess
    self.expires = expires
  }

  /// The header of its record. Impossible times (future ones, or an access before the creation) are corrected.
  func header(
    for key: CacheKey, _ bytes: UnsafeRawBufferPointer, in store: DiskStore
  ) throws(CacheError) -> RecordHeader {
    var header = try store.header(for: key, format, bytes, expires: expires, cost: nil)
    let now = header.created
    header.created = created.map { min(now, RecordHeader.seconds($0)) } ?? now
    header.lastAccess = lastAccess.map { min(now, max(header.created, RecordHeader.seconds($0))) } ?? now
    return header
  }
}
