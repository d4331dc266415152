import Platform

/// A part of a file in memory, as long as the longest piece that was asked for, and some more.
final class FileWindow {
  private static let leastSize = 64 << 10
  private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: leastSize, alignment: 64)
  /// Where in the file it is.
  private var place = 0..<0

  deinit { buffer.deallocate() }

  /// Bytes of a file, aligned to 8 if the offset is; `nil` if they are not within `limits`, or the file has become shorter.
  /// They are valid until the next call.
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
