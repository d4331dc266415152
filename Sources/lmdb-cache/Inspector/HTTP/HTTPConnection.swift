import Foundation

/// A connection with one request and response, on a separate thread. All waits have limits, so a stalled peer does not
/// keep the thread.
final class HTTPConnection {
  let descriptor: Int32
  private var received = Data()

  /// Nanoseconds until the whole request must have arrived.
  private static let requestLimit: UInt64 = 5_000_000_000
  /// Nanoseconds within which the peer must read some of the response.
  private static let stall: UInt64 = 15_000_000_000
  /// The first line may hold a key of 4 KiB with every byte escaped.
  private static let greatestHead = 20 << 10
  private static let end = Data("\r\n\r\n".utf8)

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  // MARK: The request

  /// Reads everything except the body; `nil` if nothing came.
  func readHead() throws(HTTPRefusal) -> HTTPRequest? {
    let deadline = Platform.nanoseconds() + Self.requestLimit
    while true {
      // The end may arrive in two parts.
      if let range = received.range(of: Self.end) {
        let head = Data(received[..<range.lowerBound])
        received = Data(received[range.upperBound...])
        return try HTTPRequest(head: head)
      }
      guard received.count <= Self.greatestHead else {
        throw HTTPRefusal(431, "A request has \(Self.greatestHead) bytes before its body at most.")
      }
      guard readMore(before: deadline) else {
        if received.isEmpty { return nil }
        throw HTTPRefusal(408, "The request did not come as a whole.")
      }
    }
  }

  /// Ignores bytes after the body.
  func readBody(of request: HTTPRequest) throws(HTTPRefusal) -> Data {
    let deadline = Platform.nanoseconds() + Self.requestLimit
    while received.count < request.bodyLength {
      guard readMore(before: deadline) else { throw HTTPRefusal(408, "The request did not come as a whole.") }
    }
    return Data(received.prefix(request.bodyLength))
  }

  private func readMore(before deadline: UInt64) -> Bool {
    let now = Platform.nanoseconds()
    guard now < deadline,
      LoopbackSocket.wait(for: descriptor, Int16(POLLIN), Int32((deadline - now + 999_999) / 1_000_000))
    else { return false }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = buffer.withUnsafeMutableBytes { LoopbackSocket.read(descriptor, into: $0) }
    if count == 0 { return false }
    received.append(contentsOf: buffer.prefix(count ?? 0))
    return true
  }

  // MARK: The response

  /// Whether the peer no longer waits for a response.
  var isAbandoned: Bool { LoopbackSocket.isAbandoned(descriptor) }

  /// Waits until the peer has gone, at most as long as given.
  func isAbandoned(within milliseconds: Int32) -> Bool {
    if LoopbackSocket.wait(for: descriptor, Int16(POLLIN), milliseconds) {
      if isAbandoned { return true }
      // Ignore what it has sent.
      Thread.sleep(forTimeInterval: Double(milliseconds) / 1_000)
    }
    return isAbandoned
  }

  func send(_ response: HTTPResponse, withoutBody: Bool = false) throws(SocketEnd) {
    try write(response.head(length: response.body.count))
    if !withoutBody { try write(response.body) }
  }

  func write(_ data: Data) throws(SocketEnd) {
    try data.withBytes { (bytes) throws(SocketEnd) in
      var rest = bytes[...]
      var deadline = Platform.nanoseconds() + Self.stall
      while !rest.isEmpty {
        let count = try LoopbackSocket.write(descriptor, UnsafeRawBufferPointer(rebasing: rest))
        rest = rest.dropFirst(count)
        let now = Platform.nanoseconds()
        if count > 0 {
          deadline = now + Self.stall
        } else {
          guard now < deadline,
            LoopbackSocket.wait(for: descriptor, Int16(POLLOUT), Int32((deadline - now + 999_999) / 1_000_000))
          else { throw SocketEnd() }
        }
      }
    }
  }

  /// Ends the connection so that the response arrives: unread input would make the system drop it.
  func drain() {
    LoopbackSocket.endWriting(descriptor)
    let deadline = Platform.nanoseconds() + 500_000_000
    var left = 1 << 20
    repeat {
      received = Data()
      guard readMore(before: deadline) else { return }
      left -= received.count
    } while left > 0
  }
}

extension Data {
  /// Like `withUnsafeBytes`, with typed throws.
  fileprivate func withBytes<E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> Void) throws(E) {
    let result = withUnsafeBytes { bytes -> Result<Void, E> in
      do throws(E) { return .success(try body(bytes)) } catch { return .failure(error) }
    }
    try result.get()
  }
}
