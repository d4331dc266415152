import Foundation

// The standard library's closures over bytes rethrow any error; these keep its type.

extension [UInt8] {
  /// Whether a file starts with a magic or a nonempty part of it.
  func begins(with magic: [UInt8]) -> Bool {
    !isEmpty && (count < magic.count ? magic.starts(with: self) : starts(with: magic))
  }

  @inline(__always)
  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withUnsafeBytes { bytes -> Result<R, E> in
      do throws(E) { return .success(try body(bytes)) } catch { return .failure(error) }
    }.get()
  }

  @inline(__always)
  mutating func withMutableBytes<R, E: Error>(_ body: (UnsafeMutableRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withUnsafeMutableBytes { bytes -> Result<R, E> in
      do throws(E) { return .success(try body(bytes)) } catch { return .failure(error) }
    }.get()
  }
}

extension Data {
  @inline(__always)
  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withUnsafeBytes { bytes -> Result<R, E> in
      do throws(E) { return .success(try body(bytes)) } catch { return .failure(error) }
    }.get()
  }
}

/// A stack buffer aligned to 16.
@inline(__always)
func withStackBytes<R, E: Error>(
  _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
) throws(E) -> R {
  try withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { bytes -> Result<R, E> in
    do throws(E) { return .success(try body(bytes)) } catch { return .failure(error) }
  }.get()
}
