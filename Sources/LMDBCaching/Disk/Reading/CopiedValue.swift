import Foundation

/// A value that was read with others.
enum CopiedValue {
  /// In memory that goes when it has been looked at.
  case lent(UnsafeRawBufferPointer)
  /// In memory of its own.
  case owned(Data)

  @inline(__always)
  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    switch self {
    case .lent(let bytes): try body(bytes)
    case .owned(let data): try data.withBytes(body)
    }
  }

  /// The value to keep, copied only if it has to be.
  @inline(__always)
  var data: Data {
    switch self {
    case .lent(let bytes): Data(bytes)
    case .owned(let data): data
    }
  }
}
