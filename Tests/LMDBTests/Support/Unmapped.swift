import LMDB
import Platform

extension UnmappedFile {
  /// All entries of the last state, in order.
  func all() throws(DataFileError) -> [Pair] {
    try read { (state) throws(DataFileError) in
      let cursor = try UnmappedCursor(state)
      var pairs: [Pair] = []
      var position = try cursor.first()
      while let entry = position {
        pairs.append(Pair(Array(entry.key), Array(try entry.value.bytes())))
        position = try cursor.next()
      }
      return pairs
    }
  }
}

extension UnmappedCursor {
  /// The first key that is not less than `key`.
  func seek(_ key: [UInt8]) throws(DataFileError) -> [UInt8]? {
    try lending(key) { (key) throws(DataFileError) in try seek(toKeyAtOrAfter: key).map { Array($0.key) } }
  }

  func value(_ key: [UInt8]) throws(DataFileError) -> [UInt8]? {
    try lending(key) { (key) throws(DataFileError) in
      guard let value = try find(key) else { return nil }
      return Array(try value.bytes())
    }
  }

  private func lending<R>(
    _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(DataFileError) -> R
  ) throws(DataFileError) -> R {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    return try body(UnsafeRawBufferPointer(start: copy.baseAddress, count: bytes.count))
  }
}
