/// The tags of an entry as they are in its record: two bytes that tell how many there are, and the hash of each in eight. At
/// least one, sorted, and different from each other, unless somebody forged them.
///
/// It refers to the bytes, of the record or of ``EntryTags``, and is good for as long as they are there.
struct TagHashes: RandomAccessCollection {
  static let greatestCount = 64

  let base: UnsafeRawPointer

  /// Returns `nil` if there cannot be tags at the beginning of the bytes, of which there may be more.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 2, let base = bytes.baseAddress else { return nil }
    self.base = base
    guard 1...Self.greatestCount ~= count, bytes.count >= length else { return nil }
  }

  /// - Parameter base: Where there are tags.
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
