import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// System calls for loopback sockets.
enum LoopbackSocket {
  /// Connections waiting to be accepted.
  private static let backlog: Int32 = 32

  /// Listens on 127.0.0.1.
  ///
  /// - Parameter port: 0 for a free one.
  static func listen(port: UInt16) throws(ToolError) -> (descriptor: Int32, port: UInt16) {
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
      guard setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
        throw failure("set up a socket", port)
      }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let bound = withSocketAddress(&address) { bind(descriptor, $0, $1) }
      guard bound == 0 else { throw failure("listen on 127.0.0.1:\(port)", port) }
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let named = withSocketAddress(&address) { pointer, _ in getsockname(descriptor, pointer, &length) }
      guard named == 0, Self.start(descriptor) == 0 else { throw failure("listen on 127.0.0.1:\(port)", port) }
      return (descriptor, UInt16(bigEndian: address.sin_port))
    } catch {
      end(descriptor)
      throw error
    }
  }

  private static func start(_ descriptor: Int32) -> Int32 {
    #if canImport(Glibc)
      Glibc.listen(descriptor, backlog)
    #elseif canImport(Musl)
      Musl.listen(descriptor, backlog)
    #else
      Darwin.listen(descriptor, backlog)
    #endif
  }

  private static func withSocketAddress(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    withUnsafeMutablePointer(to: &address) { pointer in
      // The calls take any kind of address by a pointer to its beginning.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  private static func failure(_ task: String, _ port: UInt16) -> ToolError {
    let code = errno
    let reason = String(cString: strerror(code))
    return switch code {
    case EADDRINUSE: ToolError(.busy, "cannot \(task): \(reason); give another --port, or none")
    case EACCES, EPERM: ToolError(.noPermission, "cannot \(task): \(reason); give a --port above 1023, or none")
    default: ToolError(.software, "cannot \(task): \(reason)")
    }
  }

  /// The next connection; `nil` on timeout, or if none can be accepted now.
  static func accept(_ descriptor: Int32, within milliseconds: Int32) -> Int32? {
    guard wait(for: descriptor, Int16(POLLIN), milliseconds) else { return nil }
    #if canImport(Glibc)
      let connection = Glibc.accept(descriptor, nil, nil)
    #elseif canImport(Musl)
      let connection = Musl.accept(descriptor, nil, nil)
    #else
      let connection = Darwin.accept(descriptor, nil, nil)
    #endif
    if connection < 0 {
      // Too many open files, for example: wait until some are closed.
      if errno != EINTR && errno != ECONNABORTED && errno != EAGAIN { Thread.sleep(forTimeInterval: 0.05) }
      return nil
    }
    guard fcntl(connection, F_SETFD, FD_CLOEXEC) == 0, fcntl(connection, F_SETFL, O_NONBLOCK) == 0 else {
      end(connection)
      return nil
    }
    return connection
  }

  /// Whether the descriptor becomes ready within that time.
  static func wait(for descriptor: Int32, _ events: Int16, _ milliseconds: Int32) -> Bool {
    var wait = pollfd(fd: descriptor, events: events, revents: 0)
    return poll(&wait, 1, milliseconds) > 0
  }

  /// Returns the bytes read; 0 at the end or after a failure; `nil` for none yet.
  static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? nil : max(0, count)
  }

  /// Returns the bytes written; 0 if the socket is not ready.
  static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SocketEnd) -> Int {
    let count = send(descriptor, bytes.baseAddress, bytes.count, 0)
    if count >= 0 { return count }
    if errno == EAGAIN || errno == EINTR { return 0 }
    throw SocketEnd()
  }

  /// Whether the peer has closed the connection. Browsers cancel a response by closing both directions.
  static func isAbandoned(_ descriptor: Int32) -> Bool {
    var byte: UInt8 = 0
    // Leaves the bytes in the buffer.
    let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK))
    return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
  }

  /// Ends the connection for its readers and writers. Callable from any thread.
  static func interrupt(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

  static func endWriting(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_WR)) }

  static func end(_ descriptor: Int32) { _ = close(descriptor) }
}
