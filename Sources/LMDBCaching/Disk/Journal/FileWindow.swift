import Platform

/// A buffered part of a file, which grows to the longest piece requested.
final class FileWindow {
  private static let leastSize = 64 << 10
  private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: leastSize, alignment: 64)
  /// The buffered range of the file.
  private var place = 0..<0

  deinit { buffer.deallocate() }

  /// Bytes of a file, valid until the next call and aligned to 8 if `offset` is; `nil` beyond `limits` or its end.
  func bytes(
    at offset: Int, count: Int, _ limits: Range<Int>, of file: borrowing File
  ) throws(SystemError) -> UnsafeRawBufferPointer? {
    guard count <= limits.upperBound - offset else { return nil }
    if !(place.lowerBound <= offset && offset + count <= place.upperBound) {
      if count > buffer.count {
        buffer.deallocate()
        buffer = .allocate(byteCount: count, alignment: 64)
      }
      let wanted = min(buffer.count, limits.upperBound - offset)
      place = 0..<0
      let found = try file.readPart(UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
      place = offset..<offset + found
      if found < count { return nil }
    }
    let start = offset - place.lowerBound
    return UnsafeRawBufferPointer(rebasing: buffer[start..<start + count])
  }
}
