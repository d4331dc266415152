/// The tags of an entry in its record: their number in two bytes, and eight bytes of hash for each. Nonempty, sorted
/// and unique, unless forged. Refers to the bytes of the record or ``EntryTags``, and is valid as long as those.
struct TagHashes: RandomAccessCollection {
  static let greatestCount = 64

  let base: UnsafeRawPointer

  /// Returns `nil` unless the bytes begin with tags.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 2, let base = bytes.baseAddress else { return nil }
    self.base = base
    guard 1...Self.greatestCount ~= count, bytes.count >= length else { return nil }
  }

  init(at base: UnsafeRawPointer) { self.base = base }

  var count: Int { Int(UInt16(littleEndian: base.loadUnaligned(as: UInt16.self))) }
  var startIndex: Int { 0 }
  var endIndex: Int { count }
  var length: Int { Self.length(count) }

  static func length(_ count: Int) -> Int { count == 0 ? 0 : 2 + 8 * count }

  subscript(index: Int) -> UInt64 {
    UInt64(littleEndian: base.loadUnaligned(fromByteOffset: 2 + 8 * index, as: UInt64.self))
  }
}
