import Foundation
import Platform

/// Serves a limited number of connections from this machine, each on a separate thread.
///
/// Every user of the machine may connect. A connection that is not admitted lasts seconds at most and is dropped when
/// there are too many, so strangers cannot block others.
// @unchecked: variables are guarded by `lock`.
final class HTTPServer: @unchecked Sendable {
  let port: UInt16
  private let descriptor: Int32
  private let lock = NSCondition()
  /// In order of arrival, with their admission.
  private var connections: [(descriptor: Int32, isAdmitted: Bool)] = []

  private static let greatestConnections = 64

  /// - Parameter port: 0 for a free one.
  init(port: UInt16) throws(ToolError) { (descriptor, self.port) = try LoopbackSocket.open(port: port) }

  deinit { _ = close(descriptor) }

  /// Serves connections until the process ends.
  ///
  /// - Parameters:
  ///   - admit: Throws to refuse a request, before its body is read.
  ///   - answer: Called on the connections' threads, concurrently.
  func start(
    admit: @escaping @Sendable (HTTPRequest) throws(HTTPRefusal) -> Void,
    answer: @escaping @Sendable (HTTPRequest, HTTPConnection) throws(HTTPRefusal) -> HTTPAnswer
  ) {
    Self.onThread { [self] in
      while true {
        guard let descriptor = LoopbackSocket.connection(to: descriptor, within: 60_000) else { continue }
        makeRoom(for: descriptor)
        Self.onThread { [self] in
          let connection = HTTPConnection(descriptor)
          do throws(SocketEnd) {
            try serve(connection, admit, answer)
            connection.drain()
          } catch {
            // The peer has gone.
          }
          end(descriptor)
        }
      }
    }
  }

  private static func onThread(_ body: @escaping @Sendable () -> Void) {
    let thread = Thread(block: body)
    // Values may nest.
    thread.stackSize = 4 << 20
    thread.start()
  }

  private func serve(
    _ connection: HTTPConnection, _ admit: (HTTPRequest) throws(HTTPRefusal) -> Void,
    _ answer: (HTTPRequest, HTTPConnection) throws(HTTPRefusal) -> HTTPAnswer
  ) throws(SocketEnd) {
    let answered: HTTPAnswer
    var isHead = false
    do throws(HTTPRefusal) {
      guard var request = try connection.readHead() else { return }
      isHead = request.method == "HEAD"
      try admit(request)
      keep(connection.descriptor)
      request.body = try connection.readBody(of: request)
      answered = try answer(request, connection)
    } catch {
      answered = .response(HTTPResponse(error))
    }
    switch answered {
    case .response(let response): try connection.send(response, withoutBody: isHead)
    case .stream(let response, let write):
      try connection.write(response.head(length: nil))
      if !isHead { try write(connection) }
    }
  }

  // MARK: Connections

  /// Waits for a place, dropping the oldest connection that is not admitted.
  private func makeRoom(for descriptor: Int32) {
    lock.lock()
    defer { lock.unlock() }
    while connections.count >= Self.greatestConnections {
      if let index = connections.firstIndex(where: { !$0.isAdmitted }) {
        _ = shutdown(connections[index].descriptor, Int32(SHUT_RDWR))
      }
      _ = lock.wait(until: Date(timeIntervalSinceNow: 0.1))
    }
    connections.append((descriptor, isAdmitted: false))
  }

  private func keep(_ descriptor: Int32) {
    lock.lock()
    defer { lock.unlock() }
    if let index = connections.firstIndex(where: { $0.descriptor == descriptor }) {
      connections[index].isAdmitted = true
    }
  }

  /// Under the lock, so that a reused descriptor of another connection is not interrupted.
  private func end(_ descriptor: Int32) {
    lock.lock()
    defer { lock.unlock() }
    connections.removeAll { $0.descriptor == descriptor }
    _ = close(descriptor)
    lock.signal()
  }
}

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
      LoopbackSocket.wait(for: descriptor, POLLIN, nanoseconds: deadline - now)
    else { return false }
    let bytes = LoopbackSocket.read(descriptor)
    received.append(contentsOf: bytes ?? [])
    return bytes?.isEmpty != true
  }

  // MARK: The response

  /// Whether the peer no longer waits for a response.
  var isAbandoned: Bool { LoopbackSocket.isAbandoned(descriptor) }

  /// Waits until the peer has gone, at most as long as given.
  func isAbandoned(within milliseconds: Int32) -> Bool {
    if LoopbackSocket.wait(for: descriptor, POLLIN, nanoseconds: UInt64(milliseconds) * 1_000_000) {
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
    var rest = data
    var deadline = Platform.nanoseconds() + Self.stall
    while !rest.isEmpty {
      let count = try LoopbackSocket.write(descriptor, rest)
      rest = rest.dropFirst(count)
      let now = Platform.nanoseconds()
      if count > 0 {
        deadline = now + Self.stall
      } else {
        guard now < deadline,
          LoopbackSocket.wait(for: descriptor, POLLOUT, nanoseconds: deadline - now)
        else { throw SocketEnd() }
      }
    }
  }

  /// Ends the connection so that the response arrives: unread input would make the system drop it.
  func drain() {
    _ = shutdown(descriptor, Int32(SHUT_WR))
    let deadline = Platform.nanoseconds() + 500_000_000
    var left = 1 << 20
    repeat {
      received = Data()
      guard readMore(before: deadline) else { return }
      left -= received.count
    } while left > 0
  }
}

/// System calls for loopback sockets.
enum LoopbackSocket {
  /// Connections waiting to be accepted.
  private static let backlog: Int32 = 32

  /// Listens on 127.0.0.1.
  ///
  /// - Parameter port: 0 for a free one.
  static func open(port: UInt16) throws(ToolError) -> (descriptor: Int32, port: UInt16) {
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw failure("make a socket", port) }
    do throws(ToolError) {
      guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else {
        throw failure("set up a socket", port)
      }
      // Allows a recently used port, but not one that is in use.
      var yes: Int32 = 1
      guard unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size)) == 0
      else {
        throw failure("set up a socket", port)
      }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let bound = unsafe withSocketAddress(&address) { unsafe bind(descriptor, $0, $1) }
      guard bound == 0 else { throw failure("listen on 127.0.0.1:\(port)", port) }
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let named = unsafe withSocketAddress(&address) { pointer, _ in unsafe getsockname(descriptor, pointer, &length) }
      guard named == 0, listen(descriptor, backlog) == 0 else { throw failure("listen on 127.0.0.1:\(port)", port) }
      return (descriptor, UInt16(bigEndian: address.sin_port))
    } catch {
      close(descriptor)
      throw error
    }
  }

  private static func withSocketAddress(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    unsafe withUnsafeMutablePointer(to: &address) { pointer in
      // The calls take any kind of address by a pointer to its beginning.
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  private static func failure(_ task: String, _ port: UInt16) -> ToolError {
    let code = errno
    let reason = SystemError.text(of: code)
    return switch code {
    case EADDRINUSE: ToolError(.busy, "cannot \(task): \(reason); give another --port, or none")
    case EACCES, EPERM: ToolError(.noPermission, "cannot \(task): \(reason); give a --port above 1023, or none")
    default: ToolError(.software, "cannot \(task): \(reason)")
    }
  }

  /// The next connection; `nil` on timeout, or if none can be accepted now.
  static func connection(to descriptor: Int32, within milliseconds: Int32) -> Int32? {
    guard wait(for: descriptor, POLLIN, nanoseconds: UInt64(milliseconds) * 1_000_000) else { return nil }
    let connection = accept(descriptor, nil, nil)
    if connection < 0 {
      // Too many open files, for example: wait until some are closed.
      if errno != EINTR && errno != ECONNABORTED && errno != EAGAIN { Thread.sleep(forTimeInterval: 0.05) }
      return nil
    }
    guard fcntl(connection, F_SETFD, FD_CLOEXEC) == 0, fcntl(connection, F_SETFL, O_NONBLOCK) == 0 else {
      close(connection)
      return nil
    }
    return connection
  }

  /// Whether the descriptor becomes ready within that time.
  static func wait(for descriptor: Int32, _ events: Int32, nanoseconds: UInt64) -> Bool {
    pollDescriptor(descriptor, events, nanoseconds: Int64(clamping: nanoseconds)).count > 0
  }

  /// Returns the bytes read; none at the end or after a failure; `nil` for none yet.
  static func read(_ descriptor: Int32) -> ArraySlice<UInt8>? {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? nil : buffer.prefix(max(0, count))
  }

  /// Returns the bytes written; 0 if the socket is not ready.
  static func write(_ descriptor: Int32, _ bytes: Data) throws(SocketEnd) -> Int {
    let count = unsafe bytes.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, 0) }
    if count >= 0 { return count }
    if errno == EAGAIN || errno == EINTR { return 0 }
    throw SocketEnd()
  }

  /// Whether the peer has closed the connection. Browsers cancel a response by closing both directions.
  static func isAbandoned(_ descriptor: Int32) -> Bool {
    var byte: UInt8 = 0
    // Leaves the bytes in the buffer.
    let count = unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK))
    return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
  }
}

struct SocketEnd: Error {}
