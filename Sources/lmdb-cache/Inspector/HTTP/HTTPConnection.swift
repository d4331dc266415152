import Foundation

/// One connection, of one request and its response, on a thread of its own.
///
/// Every wait ends: neither who sends nothing nor who reads nothing keeps the thread.
final class HTTPConnection {
  let descriptor: Int32
  private var received = Data()

  /// Nanoseconds until all of a request has to be here.
  private static let requestLimit: UInt64 = 5_000_000_000
  /// Nanoseconds in which some of a response has to be taken.
  private static let stall: UInt64 = 15_000_000_000
  /// A key of 4 KiB, with each of its bytes escaped, is in the first line.
  private static let greatestHead = 20 << 10
  private static let end = Data("\r\n\r\n".utf8)

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  // MARK: The request

  /// All but its body; `nil` if nothing came.
  func readHead() throws(HTTPRefusal) -> HTTPRequest? {
    let deadline = Platform.nanoseconds() + Self.requestLimit
    while true {
      // The end may come in two parts.
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

  /// What comes behind it is not looked at.
  func readBody(of request: HTTPRequest) throws(HTTPRefusal) -> Data {
    let deadline = Platform.nanoseconds() + Self.requestLimit
    while received.count < request.bodyLength {
      guard readMore(before: deadline) else { throw HTTPRefusal(408, "The request did not come as a whole.") }
    }
    return Data(received.prefix(request.bodyLength))
  }

  /// Whether there was more.
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

  /// Whether nobody waits for a response any more.
  var isAbandoned: Bool { LoopbackSocket.isAbandoned(descriptor) }

  /// The same in a while; sooner if so.
  func isAbandoned(within milliseconds: Int32) -> Bool {
    if LoopbackSocket.wait(for: descriptor, Int16(POLLIN), milliseconds) {
      if isAbandoned { return true }
      // It has sent something, which nobody reads.
      Thread.sleep(forTimeInterval: Double(milliseconds) / 1_000)
    }
    return isAbandoned
  }

  func send(_ response: HTTPResponse, withoutBody: Bool = false) throws(SocketEnd) {
    try write(response.head(length: response.body.count))
    if !withoutBody { try write(response.body) }
  }

  /// Writes all of it.
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

  /// Ends it so that what was written arrives: where something is left unread, the system would drop it.
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
  /// As `withUnsafeBytes`, with the error's type kept.
  fileprivate func withBytes<E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> Void) throws(E) {
    let result = withUnsafeBytes { bytes -> Result<Void, E> in
      do throws(E) { return .success(try body(bytes)) } catch { return .failure(error) }
    }
    try result.get()
  }
}
