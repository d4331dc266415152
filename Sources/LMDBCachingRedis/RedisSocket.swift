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
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<Int32>.size)) == 0
      else { throw Self.failure("Making a socket", "fcntl", name, errno) }
    #endif
  }

  deinit { if descriptor >= 0 { _ = Platform.close(descriptor) } }

  private static func failure(_ activity: String, _ call: String, _ name: String, _ status: Int32) -> RemoteTierError {
    RemoteTierError(.unreachable, "\(activity): \(SystemError(call, name, errno: status))")
  }

  // MARK: Connecting

  /// Connects before a deadline of the monotonic clock, trying each address of a name for its share of the time. The
  /// lookup takes as long as the system needs.
  static func connected(
    to address: RedisConfiguration.Address, before deadline: Int64
  ) throws(RemoteTierError) -> RedisSocket {
    let name: String
    let addresses: [(family: Int32, bytes: [UInt8])]
    switch address {
    case .unixSocket(let path):
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      unsafe withUnsafeMutableBytes(of: &address.sun_path) {
        unsafe $0.copyBytes(from: Array(path.utf8).prefix($0.count - 1))
      }
      (name, addresses) = unsafe (path, [(AF_UNIX, withUnsafeBytes(of: address) { unsafe Array($0) })])
    case .host(let host, let port): (name, addresses) = ("\(host):\(port)", try find(host, port))
    }
    var failure = RemoteTierError(.unreachable, "\(name) has no address.")
    for (index, address) in addresses.enumerated() {
      let now = MonotonicClock.nanoseconds
      let share = now + max(0, deadline - now) / Int64(addresses.count - index)
      do throws(RemoteTierError) {
        let socket = try RedisSocket(address.family, name)
        try socket.connect(address.bytes, name, share)
        if address.family == AF_UNIX { return socket }
        try socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1), "Connecting")
        try socket.set(SOL_SOCKET, SO_KEEPALIVE, Int32(1), "Connecting")
        return socket
      } catch {
        failure = error
      }
    }
    throw failure
  }

  /// A host's addresses, each the bytes of a `sockaddr`. Blocks as long as the system's lookup takes.
  private static func find(_ host: String, _ port: Int) throws(RemoteTierError) -> [(family: Int32, bytes: [UInt8])] {
    var hints = unsafe addrinfo()
    #if canImport(Darwin)
      unsafe hints.ai_socktype = SOCK_STREAM
    #else
      unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #endif
    var list: UnsafeMutablePointer<addrinfo>?
    let status = unsafe getaddrinfo(host, String(port), &hints, &list)
    if status != 0 {
      throw RemoteTierError(.unreachable, unsafe "Looking up \(host): \(String(cString: gai_strerror(status)))")
    }
    defer { unsafe freeaddrinfo(list) }
    var addresses: [(family: Int32, bytes: [UInt8])] = []
    var next = unsafe list
    while let address = unsafe next?.pointee {
      let bytes = unsafe UnsafeRawBufferPointer(start: address.ai_addr, count: Int(address.ai_addrlen))
      unsafe addresses.append((address.ai_family, Array(bytes)))
      unsafe next = address.ai_next
    }
    return addresses
  }

  /// - Parameter address: The bytes of a `sockaddr`.
  private func connect(_ address: [UInt8], _ name: String, _ deadline: Int64) throws(RemoteTierError) {
    let isStarted = unsafe address.withUnsafeBytes {
      unsafe Platform.connect(
        descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count)) == 0
    }
    if !isStarted, errno != EINPROGRESS, errno != EINTR {
      throw Self.failure("Connecting", "connect", name, errno)
    }
    guard try wait(for: POLLOUT, before: deadline) != 0 else {
      throw RemoteTierError(.timedOut, "Connecting to \(name) took too long.")
    }
    var status: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    if unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &status, &size) != 0 { status = errno }
    if status != 0 { throw Self.failure("Connecting", "connect", name, status) }
    // From now on each call says whether it waits.
    let flags = fcntl(descriptor, F_GETFL)
    guard flags >= 0, fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0 else {
      throw Self.failure("Connecting", "fcntl", name, errno)
    }
  }

  private func set<T: BitwiseCopyable>(
    _ level: Int32, _ option: Int32, _ value: T, _ activity: String
  ) throws(RemoteTierError) {
    var value = value
    if unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<T>.size)) == 0 { return }
    throw Self.failure(activity, "setsockopt", "the server", errno)
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
      let count = unsafe Platform.send(descriptor, bytes.baseAddress, bytes.count, flags)
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
      let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, deadline == nil ? Int32(MSG_DONTWAIT) : 0)
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
    try set(SOL_SOCKET, SO_RCVTIMEO, limit, "Waiting")
  }

  // MARK: Waiting

  /// Waits for `POLLIN`, `POLLOUT`, or both. Returns the ready ones; 0 on timeout.
  func wait(for events: Int32, before deadline: Int64) throws(RemoteTierError) -> Int32 {
    while true {
      let rest = deadline - MonotonicClock.nanoseconds
      if rest <= 0 { return 0 }
      let (count, found) = pollDescriptor(descriptor, events, nanoseconds: rest)
      let ready = found & events
      // The caller's next operation reports a failure.
      if count > 0 { return ready == 0 ? events : ready }
      if count < 0, errno != EINTR { throw Self.failure("Waiting", "poll", "the server", errno) }
    }
  }

  /// Whether bytes, or the end of the connection, have arrived.
  var hasArrivals: Bool { pollDescriptor(descriptor, POLLIN, nanoseconds: 0).count != 0 }
}
