public import CPlatform
public import CXXHash
public import Synchronization

extension MemoryStore {
  /// How many look-ups the processor prepares at once: about as many as it can have loads of memory under way.
  @inlinable static var groupSize: Int { 16 }

  /// Calls `body` with the number and the hash of each of the keys, in their order, after the processor was asked for what
  /// the look-up will read.
  @inlinable @inline(__always)
  package func withHashes(of keys: [Key], _ body: (Int, UInt64) -> Void) {
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.groupSize) { hashes in
      var start = 0
      while start < keys.count {
        let end = min(start &+ Self.groupSize, keys.count)
        let mask = mask.load(ordering: .relaxed)
        var hasObjects = !_isPOD(Value.self)
        prefetch(keys, start..<end)
        for index in start..<end {
          let hash = hash(of: keys[index])
          hashes[index &- start] = hash
          hasObjects = hasObjects || Self.isElsewhere(keys[index])
          prefetch(hash: hash, mask: mask)
        }
        if hasObjects, Self.isCopied, let reader = readers.enter() {
          for index in start..<end { prefetchObjects(hash: hashes[index &- start], mask: mask) }
          reader.pointee.leave()
        }
        for index in start..<end { body(index, hashes[index &- start]) }
        start = end
      }
    }
  }

  /// Has the processor fetch the bytes of keys that are about to be hashed.
  @inlinable @inline(__always)
  func prefetch(_ keys: [Key], _ range: Range<Int>) {
    guard Key.self == String.self else { return }
    keys.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      for index in range { Self.prefetchObject(base + (index &* MemoryLayout<Key>.stride &+ 8), distance: 32) }
    }
  }

  /// Whether a part of the key in its entry is elsewhere in memory. A string of up to 15 bytes is in place.
  @inlinable @inline(__always)
  static func isElsewhere(_ key: borrowing Key) -> Bool {
    if Key.self == String.self { return unsafeBitCast(copy key, to: String.self).utf8.count > 15 }
    return !_isPOD(Key.self)
  }

  /// Has the processor fetch what the entry of a hash, if it is there, refers to. For a reader that is announced.
  ///
  /// Nothing of it is believed: what is fetched may be of no use.
  @inlinable @inline(__always)
  func prefetchObjects(hash: UInt64, mask: Int) {
    let shard = shard(number(of: hash, mask: mask))
    guard let version = shard.pointee.version.version() else { return }
    let words = shard.pointee.view.words.load(ordering: .relaxed)
    let base = shard.pointee.view.entries.load(ordering: .relaxed)
    // Both are of one table, which stays until this reader leaves.
    guard shard.pointee.version.isCurrent(version), let found = Self.search(words, hash: hash), found.word != 0 else {
      return
    }
    let entry = UnsafeRawPointer(bitPattern: base).unsafelyUnwrapped + found.place &* MemoryLayout<Entry>.stride
    if !_isPOD(Value.self), MemoryLayout<Value>.size == MemoryLayout<UInt>.size {
      Self.prefetchObject(entry + MemoryTable<Key, Value>.valueOffset, distance: 0)
    }
    // A string's bytes are 32 bytes behind the object that its second word points to. A short one's word is no address,
    // which does no harm.
    let (word, distance): (Int, UInt) = Key.self == String.self ? (8, 32) : (0, 0)
    if !_isPOD(Key.self), MemoryLayout<Key>.size >= word &+ 8 {
      Self.prefetchObject(entry + word, distance: distance)
    }
  }

  @inlinable @inline(__always)
  static func prefetchObject(_ place: UnsafeRawPointer, distance: UInt) {
    let reference = UInt(truncatingIfNeeded: cplatform_peek(place))
    cxxhash_prefetch(UnsafeRawPointer(bitPattern: reference & addressBits &+ distance))
  }

  /// Of a word that is a reference, and has more than that in its other bits.
  @inlinable static var addressBits: UInt { 0x0000_FFFF_FFFF_FFF8 }
}
