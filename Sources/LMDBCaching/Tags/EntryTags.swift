import CXXHash

/// The tags of an entry, of which a 64-bit hash each is stored. Of two tags that have the same hash, one pair in 10^19, a
/// removal of one removes the entries of both.
final class EntryTags: @unchecked Sendable, Equatable {
  // Unchecked because of the pointer: what it points to never changes, and lives as long as this.

  /// Good for as long as this object.
  let hashes: TagHashes

  private init(_ hashes: some Collection<UInt64>) {
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: TagHashes.length(hashes.count), alignment: 8)
    bytes.storeBytes(of: UInt16(hashes.count).littleEndian, as: UInt16.self)
    for (index, hash) in hashes.enumerated() {
      bytes.storeBytes(of: hash.littleEndian, toByteOffset: 2 + 8 * index, as: UInt64.self)
    }
    self.hashes = TagHashes(at: bytes)
  }

  /// A copy of what a record has.
  convenience init(copying hashes: TagHashes) { self.init(hashes) }

  deinit { UnsafeMutableRawPointer(mutating: hashes.base).deallocate() }

  /// Returns `nil` if there are none.
  ///
  /// - Throws: `.invalidArgument` for more than ``TagHashes/greatestCount``.
  static func make(_ tags: [String]) throws(CacheError) -> EntryTags? {
    if tags.isEmpty { return nil }
    return try make(hashes: tags.map(hash))
  }

  /// The same of the hashes of tags, in any order.
  static func make(hashes: [UInt64]) throws(CacheError) -> EntryTags? {
    if hashes.isEmpty { return nil }
    let hashes = Set(hashes).sorted()
    guard hashes.count <= TagHashes.greatestCount else {
      throw CacheError(
        .invalidArgument,
        "An entry has \(TagHashes.greatestCount) tags at most, not \(hashes.count). Tag it with what groups more.")
    }
    return EntryTags(hashes)
  }

  /// XXH3, seeded so that it is no hash of a key.
  static func hash(_ tag: String) -> UInt64 {
    withUTF8Bytes(of: tag) { cxxhash_64($0.baseAddress, $0.count, 0x7461_6773) }
  }

  static func == (first: EntryTags, second: EntryTags) -> Bool { first.hashes.elementsEqual(second.hashes) }
}
