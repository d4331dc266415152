public import CXXHash

/// How keys are hashed and compared.
///
/// A `String` is its UTF-8 bytes, as on disk: a composed and a decomposed "é" are two keys. Other types use `Hashable`.
/// Specialization removes the checks for `String`.
@frozen @usableFromInline
package enum KeyIdentity {
  /// Random in every process, so that colliding keys cannot be chosen.
  package static let seed = UInt64.random(in: .min ... .max)

  @inlinable @inline(__always)
  package static func hash<Key: Hashable>(_ key: Key, seed: UInt64) -> UInt64 {
    if Key.self == String.self {
      return hash(string: unsafeBitCast(key, to: String.self), seed: seed)
    }
    let hash = UInt64(truncatingIfNeeded: key.hashValue)
    // A 32-bit platform's hash would leave the upper half, which selects the shard, empty.
    return Int.bitWidth == 64 ? hash : (hash ^ seed) &* 0x9E37_79B9_7F4A_7C15
  }

  @inlinable @inline(__always)
  static func hash(string: String, seed: UInt64) -> UInt64 {
    if let hash = string.utf8.withContiguousStorageIfAvailable({ cxxhash_64($0.baseAddress, $0.count, seed) }) {
      return hash
    }
    return hash(bridged: string, seed: seed)
  }

  /// For strings from Objective-C that are not UTF-8.
  @usableFromInline @inline(never)
  static func hash(bridged string: String, seed: UInt64) -> UInt64 {
    var copy = string
    return copy.withUTF8 { cxxhash_64($0.baseAddress, $0.count, seed) }
  }

  @inlinable @inline(__always)
  package static func same<Key: Hashable>(_ a: Key, _ b: Key) -> Bool {
    if Key.self == String.self {
      return same(string: unsafeBitCast(a, to: String.self), unsafeBitCast(b, to: String.self))
    }
    return a == b
  }

  @inlinable @inline(__always)
  static func same(string a: String, _ b: String) -> Bool {
    // The same small string or storage.
    if unsafeBitCast(a, to: RawString.self) == unsafeBitCast(b, to: RawString.self) { return true }
    return sameBytes(a, b)
  }

  @inlinable @inline(__always)
  static func sameBytes(_ a: String, _ b: String) -> Bool {
    let same = a.utf8.withContiguousStorageIfAvailable { a in
      b.utf8.withContiguousStorageIfAvailable { b in
        a.count == b.count && equal(a.baseAddress, b.baseAddress, a.count)
      }
    }
    if case .some(.some(let same)) = same { return same }
    return sameBridged(a, b)
  }

  @usableFromInline @inline(never)
  static func sameBridged(_ a: String, _ b: String) -> Bool {
    a.utf8.elementsEqual(b.utf8)
  }

  /// `memcmp(…) == 0` for usual key lengths, without the call.
  @inlinable @inline(__always)
  static func equal(_ a: UnsafePointer<UInt8>?, _ b: UnsafePointer<UInt8>?, _ count: Int) -> Bool {
    guard let a, let b else { return true }
    let x = UnsafeRawPointer(a)
    let y = UnsafeRawPointer(b)
    if count < 8 { return equalShort(a, b, count) }
    // Whole words; the last overlaps its predecessor.
    var offset = 0
    let last = count &- 8
    while offset < last {
      if x.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        != y.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      {
        return false
      }
      offset &+= 8
    }
    return x.loadUnaligned(fromByteOffset: last, as: UInt64.self)
      == y.loadUnaligned(fromByteOffset: last, as: UInt64.self)
  }

  @usableFromInline @inline(never)
  static func equalShort(_ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    for index in 0..<count where a[index] != b[index] { return false }
    return true
  }

  /// A string's representation, to detect the same storage.
  @frozen @usableFromInline
  struct RawString: Equatable {
    @usableFromInline let first: UInt64
    @usableFromInline let second: UInt64
  }
}
