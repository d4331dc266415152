@testable import CBORCoding

extension [UInt8] {
  func withBytes<R, E: Error>(_ body: (CBORBytes) throws(E) -> R) throws(E) -> R {
    try withUnsafeBytes { bytes -> Result<R, E> in
      do throws(E) { return .success(try body(CBORBytes(bytes))) } catch { return .failure(error) }
    }.get()
  }
}
