import CXXHash

/// The tags of an entry, stored as 64-bit hashes. If two tags collide (one pair in 10^19), removing one removes both.
final class EntryTags: @unchecked Sendable, Equatable {
  // Unchecked: the memory behind the pointer never changes, and lives as long as this.

  let hashes: TagHashes

  private init(_ hashes: some Collection<UInt64>) {
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: TagHashes.length(hashes.count), alignment: 8)
    bytes.storeBytes(of: UInt16(hashes.count).littleEndian, as: UInt16.self)
    for (index, hash) in hashes.enumerated() {
      bytes.storeBytes(of: hash.littleEndian, toByteOffset: 2 + 8 * index, as: UInt64.self)
    }
    self.hashes = TagHashes(at: bytes)
  }

  convenience init(copying hashes: TagHashes) { self.init(hashes) }

  deinit { UnsafeMutableRawPointer(mutating: hashes.base).deallocate() }

  /// Returns `nil` without tags. Throws `.invalidArgument` for more than ``TagHashes/greatestCount``.
  static func make(_ tags: [String]) throws(CacheError) -> EntryTags? {
    if tags.isEmpty { return nil }
    return try make(hashes: tags.map(hash))
  }

  /// Takes the hashes in any order.
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

  /// XXH3, with another seed than for keys.
  static func hash(_ tag: String) -> UInt64 {
    withUTF8Bytes(of: tag) { cxxhash_64($0.baseAddress, $0.count, 0x7461_6773) }
  }

  static func == (first: EntryTags, second: EntryTags) -> Bool { first.hashes.elementsEqual(second.hashes) }
}
