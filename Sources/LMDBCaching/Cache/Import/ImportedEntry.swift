import Foundation

/// An entry as another store had it, archived for this one.
package struct ImportedEntry: Sendable {
  package let key: String
  let format: ArchiveFormat
  let payload: Data
  /// Nanoseconds since 1970; `nil`: when it is stored.
  let created: Int64?
  /// Nanoseconds since 1970; `nil`: when it is stored.
  let lastAccess: Int64?
  /// Nanoseconds since 1970; 0: never.
  let expires: Int64

  /// Bytes of the value as it is stored.
  package var valueSize: Int { payload.count }

  /// Bytes that it takes up, about.
  package var size: Int { key.utf8.count + payload.count + RecordHeader.baseSize }

  /// - Throws: `.invalidArgument` for a key or a value that is too long, `.encodingFailed`.
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

  /// The header of its record. A time that is still to come, or the last access before the beginning, cannot have been.
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
