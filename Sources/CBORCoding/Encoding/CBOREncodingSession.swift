import Foundation
import FoundationObjects

/// What all the buffers of one call of ``CBOREncoder`` share.
final class CBOREncodingSession {
  // Unchecked: no access to these is under way while another begins, and a check would cost as much as the access.
  @exclusivity(unchecked) private(set) var userInfo: [CodingUserInfoKey: Any] = [:]
  @exclusivity(unchecked) var path = CBORCodingPath()
  @exclusivity(unchecked) var nesting = Nesting(maximumDepth: 0)
  /// What went wrong where nothing could be thrown; whoever can throw next does.
  @exclusivity(unchecked) var failure: Failure?
  /// Where maps are put in order.
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

  /// A number that no frame had before.
  @inline(__always)
  func nextSerial() -> UInt64 {
    lastSerial &+= 1
    return lastSerial
  }

  /// An empty buffer, for a container that is written while another is.
  func buffer(path: CBORCodingPath.Reference, _ kind: CBOREncodingFrame.Kind) -> CBOREncodingBuffer {
    let buffer = spareBuffers.popLast() ?? CBOREncodingBuffer(self)
    buffer.begin(path: path, kind)
    return buffer
  }

  /// Takes a buffer back whose bytes have been copied.
  func recycle(_ buffer: CBOREncodingBuffer) {
    if spareBuffers.count < 4 { spareBuffers.append(buffer) }
  }

  /// Lets go of what is not needed for the next value.
  func end() {
    // Each of them holds this session.
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
