import Foundation
import Platform

/// A stream socket. Calls never block indefinitely or raise SIGPIPE, and child processes do not inherit it. One thread
/// at a time.
final class RedisSocket {
  let descriptor: Int32
  /// The current system timeout of ``receive(into:before:)``, in nanoseconds.
  private var receiveLimit: Int64 = 0

  /// A socket before connecting.
  private init(_ family: Int32, _ name: String) throws(RemoteTierError) {
    #if canImport(Darwin)
      let kind = SOCK_STREAM
    #else
      let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    #endif
    descriptor = socket(family, kind, 0)
    guard descriptor >= 0 else { throw Self.failure("Making a socket", "socket", name, errno) }
    #if canImport(Darwin)
      var yes: Int32 = 1
      guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0,
        setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<Int32>.size)) == 0
      else { throw Self.failure("Making a socket", "fcntl", name, errno) }
    #endif
  }

  deinit { if descriptor >= 0 { _ = Platform.close(descriptor) } }

  private static func failure(
    _ activity: String, _ call: String, _ name: String, _ status: Int32
  ) -> RemoteTierError {
    RemoteTierError(.unreachable, "\(activity): \(SystemError(call, name, errno: status))")
  }

  // MARK: Connecting

  /// Connects, trying each address of a name in turn for its share of the time. The name lookup takes as long as the
  /// system needs.
  ///
  /// - Parameter deadline: Nanoseconds of the monotonic clock.
  static func connected(
    to address: RedisConfiguration.Address, before deadline: Int64
  ) throws(RemoteTierError) -> RedisSocket {
    switch address {
    case .unixSocket(let path):
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix($0.count - 1)) }
      let socket = try RedisSocket(AF_UNIX, path)
      let size = socklen_t(MemoryLayout<sockaddr_un>.size)
      let status = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket.descriptor, $0, size) }
      }
      try socket.finishConnecting(status == 0 ? 0 : errno, path, deadline)
      return socket
    case .host(let host, let port):
      let addresses = try SocketAddress.find(host, port)
      var failure = RemoteTierError(.unreachable, "\(host) has no address.")
      for (index, address) in addresses.enumerated() {
        let now = MonotonicClock.nanoseconds
        let share = now + max(0, deadline - now) / Int64(addresses.count - index)
        do throws(RemoteTierError) {
          let socket = try RedisSocket(address.family, "\(host):\(port)")
          let status = address.withBytes { connect(socket.descriptor, $0, $1) }
          try socket.finishConnecting(status == 0 ? 0 : errno, "\(host):\(port)", share)
          try socket.prepareForNetwork("\(host):\(port)")
          return socket
        } catch {
          failure = error
        }
      }
      throw failure
    }
  }

  private func finishConnecting(_ begun: Int32, _ name: String, _ deadline: Int64) throws(RemoteTierError) {
    guard begun == 0 || begun == EINPROGRESS || begun == EINTR else {
      throw Self.failure("Connecting", "connect", name, begun)
    }
    guard try wait(for: POLLOUT, before: deadline) != 0 else {
      throw RemoteTierError(.timedOut, "Connecting to \(name) took too long.")
    }
    var status: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &status, &length) == 0 else {
      throw Self.failure("Connecting", "getsockopt", name, errno)
    }
    if status != 0 { throw Self.failure("Connecting", "connect", name, status) }
  }

  private func prepareForNetwork(_ name: String) throws(RemoteTierError) {
    var yes: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    guard setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, size) == 0,
      setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &yes, size) == 0
    else { throw Self.failure("Connecting", "setsockopt", name, errno) }
  }

  // MARK: Bytes

  /// Sends as much as possible without blocking. Returns the bytes sent; 0 if the socket is not ready.
  func send(_ bytes: UnsafeRawBufferPointer) throws(RemoteTierError) -> Int {
    #if canImport(Darwin)
      let flags = Int32(MSG_DONTWAIT)
      func call() -> Int { Darwin.send(descriptor, bytes.baseAddress, bytes.count, flags) }
    #else
      let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
      func call() -> Int { Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags) }
    #endif
    while true {
      let count = call()
      if count >= 0 { return count }
      if errno == EINTR { continue }
      if errno == EAGAIN || errno == EWOULDBLOCK { return 0 }
      throw Self.failure("Sending", "send", "the server", errno)
    }
  }

  /// Receives the bytes that have arrived. Returns their number; `nil` for none yet.
  func receive(into buffer: UnsafeMutableRawBufferPointer) throws(RemoteTierError) -> Int? {
    while true {
      switch try received(buffer, Int32(MSG_DONTWAIT)) {
      case .bytes(let count): return count
      case .nothing: return nil
      case .interrupted: continue
      }
    }
  }

  private enum Reception {
    case bytes(Int)
    case nothing
    case interrupted
  }

  private func received(
    _ buffer: UnsafeMutableRawBufferPointer, _ flags: Int32
  ) throws(RemoteTierError) -> Reception {
    let count = recv(descriptor, buffer.baseAddress, buffer.count, flags)
    if count > 0 { return .bytes(count) }
    if count == 0 { throw RemoteTierError(.unreachable, "The server has closed the connection.") }
    switch errno {
    case EINTR: return .interrupted
    case EAGAIN, EWOULDBLOCK: return .nothing
    default: throw Self.failure("Receiving", "recv", "the server", errno)
    }
  }

  // MARK: Waiting

  /// Waits for `POLLIN`, `POLLOUT`, or both. Returns the ready ones; 0 on timeout.
  func wait(for events: Int32, before deadline: Int64) throws(RemoteTierError) -> Int32 {
    while true {
      let rest = deadline - MonotonicClock.nanoseconds
      if rest <= 0 { return 0 }
      var item = pollfd(fd: descriptor, events: Int16(events), revents: 0)
      let count = poll(&item, 1, Int32(clamping: (rest + 999_999) / 1_000_000))
      // The caller's next operation reports a failure.
      if count > 0 { return Int32(item.revents) & events == 0 ? events : Int32(item.revents) & events }
      if count < 0, errno != EINTR { throw Self.failure("Waiting", "poll", "the server", errno) }
    }
  }

  /// Whether bytes, or the end of the connection, have arrived.
  var hasArrivals: Bool {
    var item = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&item, 1, 0) != 0
  }

  /// Makes receiving calls block in the system: one call instead of two.
  func makeWaiting() throws(RemoteTierError) {
    let flags = fcntl(descriptor, F_GETFL)
    guard flags >= 0, fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0 else {
      throw Self.failure("Connecting", "fcntl", "the server", errno)
    }
  }

  /// Receives, blocking in the system. Use after ``makeWaiting()``. Returns the number of bytes; `nil` on timeout.
  func receive(
    into buffer: UnsafeMutableRawBufferPointer, before deadline: Int64
  ) throws(RemoteTierError) -> Int? {
    while true {
      let rest = deadline - MonotonicClock.nanoseconds
      if rest <= 0 { return nil }
      // Avoid setting it often: a present value up to a tenth too long is good enough.
      if rest > receiveLimit || rest < receiveLimit / 10 * 9 {
        receiveLimit = rest.addingClamped(rest / 64)
        var limit = timeval()
        limit.tv_sec = numericCast(receiveLimit / 1_000_000_000)
        limit.tv_usec = numericCast(max(1, receiveLimit % 1_000_000_000 / 1_000))
        guard setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size)) == 0 else {
          throw Self.failure("Waiting", "setsockopt", "the server", errno)
        }
      }
      switch try received(buffer, 0) {
      case .bytes(let count): return count
      case .nothing: return nil
      // Interrupted by a signal. The system would restart the full timeout, so set the remaining time.
      case .interrupted: continue
      }
    }
  }
}

/// A host's address for system calls.
struct SocketAddress {
  let family: Int32
  private let bytes: [UInt8]

  /// A host's addresses. Blocks as long as the system's lookup takes.
  static func find(_ host: String, _ port: Int) throws(RemoteTierError) -> [SocketAddress] {
    var hints = addrinfo()
    #if canImport(Darwin)
      hints.ai_socktype = SOCK_STREAM
    #else
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #endif
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, String(port), &hints, &list)
    guard status == 0 else {
      throw RemoteTierError(.unreachable, "Looking up \(host): \(String(cString: gai_strerror(status)))")
    }
    defer { freeaddrinfo(list) }
    var found: [SocketAddress] = []
    var next = list
    while let info = next?.pointee {
      if let address = info.ai_addr {
        found.append(
          SocketAddress(
            family: info.ai_family,
            bytes: Array(UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen)))))
      }
      next = info.ai_next
    }
    return found
  }

  func withBytes<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    bytes.withUnsafeBytes { bytes in
      // Array storage has the alignment of any allocation.
      body(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
  }
}
