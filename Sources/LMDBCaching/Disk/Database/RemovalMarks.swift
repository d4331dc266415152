/// What the database has of removals of many entries. Who compares it with what it was knows whether any was committed since,
/// also one of keys under which there was nothing.
struct RemovalMarks: Equatable {
  /// The stamp of the last removal of every entry; see ``CacheMetadata/clearStamp``.
  let clear: UInt64
  /// That of the last removal by a tag; see ``TagStatus/last``.
  let tag: UInt64
  /// Another number with each transaction that removed by prefix; 0 if none has.
  let prefix: UInt64

  // MARK: The record of removals by prefix

  /// `FF` and `p`.
  static let prefixKey: [UInt8] = [DatabaseKey.reservedMarker, UInt8(ascii: "p")]

  /// Reads a record; one that no cache can have written counts as none.
  static func prefixMark(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    bytes.count == 8 ? UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)) : 0
  }
}
