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

  /// Connects before a deadline of the monotonic clock, trying each address of a name for its share of the time. The
  /// lookup takes as long as the system needs.
  static func connected(
    to address: RedisConfiguration.Address, before deadline: Int64
  ) throws(RemoteTierError) -> RedisSocket {
    switch address {
    case .unixSocket(let path):
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix($0.count - 1)) }
      let socket = try RedisSocket(AF_UNIX, path)
      try withUnsafeBytes(of: address) { (bytes) throws(RemoteTierError) in
        let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
        try socket.connect(address, socklen_t(bytes.count), path, deadline)
      }
      return socket
    case .host(let host, let port):
      let list = try find(host, port)
      defer { freeaddrinfo(list) }
      let addresses = Array(
        sequence(state: list) { next in
          defer { next = next?.pointee.ai_next }
          return next?.pointee
        })
      var failure = RemoteTierError(.unreachable, "\(host) has no address.")
      for (index, address) in addresses.enumerated() {
        let now = MonotonicClock.nanoseconds
        let share = now + max(0, deadline - now) / Int64(addresses.count - index)
        do throws(RemoteTierError) {
          let socket = try RedisSocket(address.ai_family, "\(host):\(port)")
          try socket.connect(address.ai_addr, address.ai_addrlen, "\(host):\(port)", share)
          try socket.set(Int32(IPPROTO_TCP), TCP_NODELAY)
          try socket.set(SOL_SOCKET, SO_KEEPALIVE)
          return socket
        } catch {
          failure = error
        }
      }
      throw failure
    }
  }

  /// A host's addresses, to be freed. Blocks as long as the system's lookup takes.
  private static func find(_ host: String, _ port: Int) throws(RemoteTierError) -> UnsafeMutablePointer<addrinfo>? {
    var hints = addrinfo()
    #if canImport(Darwin)
      hints.ai_socktype = SOCK_STREAM
    #else
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #endif
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, String(port), &hints, &list)
    if status == 0 { return list }
    throw RemoteTierError(.unreachable, "Looking up \(host): \(String(cString: gai_strerror(status)))")
  }

  private func connect(
    _ address: UnsafePointer<sockaddr>, _ length: socklen_t, _ name: String, _ deadline: Int64
  ) throws(RemoteTierError) {
    if Platform.connect(descriptor, address, length) != 0, errno != EINPROGRESS, errno != EINTR {
      throw Self.failure("Connecting", "connect", name, errno)
    }
    guard try wait(for: POLLOUT, before: deadline) != 0 else {
      throw RemoteTierError(.timedOut, "Connecting to \(name) took too long.")
    }
    var status: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    if getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &status, &size) != 0 { status = errno }
    if status != 0 { throw Self.failure("Connecting", "connect", name, status) }
    // From now on each call says whether it waits.
    let flags = fcntl(descriptor, F_GETFL)
    guard flags >= 0, fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0 else {
      throw Self.failure("Connecting", "fcntl", name, errno)
    }
  }

  private func set(_ level: Int32, _ option: Int32) throws(RemoteTierError) {
    var yes: Int32 = 1
    if setsockopt(descriptor, level, option, &yes, socklen_t(MemoryLayout<Int32>.size)) == 0 { return }
    throw Self.failure("Connecting", "setsockopt", "the server", errno)
  }

  // MARK: Bytes

  /// Sends as much as possible without blocking. Returns the bytes sent; 0 if the socket is not ready.
  func send(_ bytes: UnsafeRawBufferPointer) throws(RemoteTierError) -> Int {
    #if canImport(Darwin)
      let flags = Int32(MSG_DONTWAIT)
    #else
      let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
    #endif
    while true {
      let count = Platform.send(descriptor, bytes.baseAddress, bytes.count, flags)
      if count >= 0 { return count }
      if errno == EINTR { continue }
      if errno == EAGAIN || errno == EWOULDBLOCK { return 0 }
      throw Self.failure("Sending", "send", "the server", errno)
    }
  }

  /// Receives the bytes that have arrived, or waits for some until a deadline. Returns their number; `nil` for none.
  func receive(
    into buffer: UnsafeMutableRawBufferPointer, before deadline: Int64? = nil
  ) throws(RemoteTierError) -> Int? {
    while true {
      if let deadline {
        let rest = deadline - MonotonicClock.nanoseconds
        if rest <= 0 { return nil }
        try limitReceiving(to: rest)
      }
      let count = recv(descriptor, buffer.baseAddress, buffer.count, deadline == nil ? Int32(MSG_DONTWAIT) : 0)
      if count > 0 { return count }
      if count == 0 { throw RemoteTierError(.unreachable, "The server has closed the connection.") }
      switch errno {
      // The system would restart the full timeout, so set the remaining time.
      case EINTR: continue
      case EAGAIN, EWOULDBLOCK: return nil
      default: throw Self.failure("Receiving", "recv", "the server", errno)
      }
    }
  }

  /// Sets the system's timeout, but rarely: a present value up to a tenth too long is good enough.
  private func limitReceiving(to rest: Int64) throws(RemoteTierError) {
    if rest <= receiveLimit, rest >= receiveLimit / 10 * 9 { return }
    receiveLimit = rest.addingClamped(rest / 64)
    var limit = timeval()
    limit.tv_sec = numericCast(receiveLimit / 1_000_000_000)
    limit.tv_usec = numericCast(max(1, receiveLimit % 1_000_000_000 / 1_000))
    guard setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size)) == 0 else {
      throw Self.failure("Waiting", "setsockopt", "the server", errno)
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
}
