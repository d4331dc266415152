public import CPlatform
public import CXXHash
public import Synchronization

extension MemoryStore {
  /// How many look-ups are prefetched at once: about as many as the processor can have loads under way.
  @inlinable static var groupSize: Int { 16 }

  /// Calls `body` with the index and hash of each key in order, after prefetching the data for the look-up.
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

  @inlinable @inline(__always)
  func prefetch(_ keys: [Key], _ range: Range<Int>) {
    guard Key.self == String.self else { return }
    keys.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      for index in range { Self.prefetchObject(base + (index &* MemoryLayout<Key>.stride &+ 8), distance: 32) }
    }
  }

  /// Whether the key has an out-of-line part. A string of up to 15 bytes is in place.
  @inlinable @inline(__always)
  static func isElsewhere(_ key: borrowing Key) -> Bool {
    if Key.self == String.self { return unsafeBitCast(copy key, to: String.self).utf8.count > 15 }
    return !_isPOD(Key.self)
  }

  /// Prefetches the references of the entry with a hash, if it exists. For an announced reader.
  ///
  /// The data may be inconsistent, so it is only prefetched.
  @inlinable @inline(__always)
  func prefetchObjects(hash: UInt64, mask: Int) {
    let shard = shard(number(of: hash, mask: mask))
    guard let version = shard.pointee.version.version() else { return }
    let words = shard.pointee.view.words.load(ordering: .relaxed)
    let base = shard.pointee.view.entries.load(ordering: .relaxed)
    // Both belong to one table, which stays until this reader leaves.
    guard shard.pointee.version.isCurrent(version), let found = Self.search(words, hash: hash), found.word != 0 else {
      return
    }
    let entry = UnsafeRawPointer(bitPattern: base).unsafelyUnwrapped + found.place &* MemoryLayout<Entry>.stride
    if !_isPOD(Value.self), MemoryLayout<Value>.size == MemoryLayout<UInt>.size {
      Self.prefetchObject(entry + MemoryTable<Key, Value>.valueOffset, distance: 0)
    }
    // A string's bytes are 32 bytes behind the object that its second word points to. For a short string the word is
    // not an address, which is harmless.
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

  /// The bits of a reference word that hold its address.
  @inlinable static var addressBits: UInt { 0x0000_FFFF_FFFF_FFF8 }
}
