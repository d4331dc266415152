import Foundation
import Platform

/// Memory from `malloc` that becomes `Data` without a copy, or is freed.
struct OwnedBytes: ~Copyable {
  private(set) var bytes = UnsafeRawBufferPointer(start: nil, count: 0)

  init() {}

  deinit { free(UnsafeMutableRawPointer(mutating: bytes.baseAddress)) }

  @inline(__always)
  mutating func copy(_ source: UnsafeRawBufferPointer) {
    free(UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    guard let base = source.baseAddress, source.count > 0 else { return }
    guard let memory = malloc(source.count) else { fatalError("There is no memory for \(source.count) bytes.") }
    memcpy(memory, base, source.count)
    bytes = UnsafeRawBufferPointer(start: memory, count: source.count)
  }

  @inline(__always)
  mutating func takeData() -> Data {
    guard let base = bytes.baseAddress else { return Data() }
    defer { bytes = UnsafeRawBufferPointer(start: nil, count: 0) }
    return Data(bytesNoCopy: UnsafeMutableRawPointer(mutating: base), count: bytes.count, deallocator: .free)
  }
}
