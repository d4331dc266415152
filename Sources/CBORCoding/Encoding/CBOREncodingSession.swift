import Foundation
import FoundationObjects

/// State shared by all buffers of one ``CBOREncoder`` call.
final class CBOREncodingSession {
  // Unchecked: accesses never overlap, and a check would cost as much as the access.
  @exclusivity(unchecked) private(set) var userInfo: [CodingUserInfoKey: Any] = [:]
  @exclusivity(unchecked) var path = CBORCodingPath()
  @exclusivity(unchecked) var nesting = Nesting(maximumDepth: 0)
  /// A failure where throwing was impossible; the next throwing call reports it.
  @exclusivity(unchecked) var failure: Failure?
  @exclusivity(unchecked) var scratch = CBORWriter()
  @exclusivity(unchecked) private var lastSerial: UInt64 = 0
  @exclusivity(unchecked) private var spareBuffers: [CBOREncodingBuffer] = []

  struct Failure {
    let path: [any CodingKey]
    let description: String
  }

  func begin(_ options: CBOREncoder) {
    if !options.userInfo.isEmpty { userInfo = options.userInfo }
    nesting = Nesting(maximumDepth: options.maximumDepth)
  }

  @inline(__always)
  func nextSerial() -> UInt64 {
    lastSerial &+= 1
    return lastSerial
  }

  /// An empty buffer for a nested container.
  func buffer(path: CBORCodingPath.Reference, _ kind: CBOREncodingFrame.Kind) -> CBOREncodingBuffer {
    let buffer = spareBuffers.popLast() ?? CBOREncodingBuffer(self)
    buffer.begin(path: path, kind)
    return buffer
  }

  /// Reuses a buffer after its bytes were copied.
  func recycle(_ buffer: CBOREncodingBuffer) {
    if spareBuffers.count < 4 { spareBuffers.append(buffer) }
  }

  /// Releases everything that the next value does not need.
  func end() {
    // Each of them retains this session.
    if !spareBuffers.isEmpty { spareBuffers = [] }
    if failure != nil { failure = nil }
    if !userInfo.isEmpty { userInfo = [:] }
    path.removeAll()
    if scratch.capacity > CBOREncodingBuffer.largestSpare { scratch = CBORWriter(capacity: 0) }
  }

  func fail(_ description: String, at path: [any CodingKey]) {
    if failure == nil { failure = Failure(path: path, description: description) }
  }
}
