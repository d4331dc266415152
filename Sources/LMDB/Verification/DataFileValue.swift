/// A value that the verification visits. Valid until `visit` returns.
package struct DataFileValue {
  /// The whole value, or at least the first 1,024 bytes of one in overflow pages.
  package let beginning: UnsafeRawBufferPointer
  /// Bytes.
  package let size: Int
  private let walk: DataFileWalk
  /// Its first overflow page, if any.
  private let page: Int?

  init(_ walk: DataFileWalk, beginning: UnsafeRawBufferPointer, size: Int, page: Int?) {
    self.walk = walk
    self.beginning = beginning
    self.size = size
    self.page = page
  }

  /// Calls `body` with the last `count` bytes, or with all if there are fewer.
  package func withEnd<R>(_ count: Int, _ body: (UnsafeRawBufferPointer) -> R) throws(DataFileError) -> R {
    let count = min(count, size)
    guard let page, beginning.count < size else {
      return body(UnsafeRawBufferPointer(rebasing: beginning[(size - count)...]))
    }
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, count), alignment: 8)
    defer { bytes.deallocate() }
    try walk.read(page, into: bytes.baseAddress!, offset: DataFileWalk.headerSize + size - count, count: count)
    return body(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
  }
}
