import CHiredis
import Foundation
import Platform

/// One connection. hiredis connects, formats and parses; bytes go by `send`, which raises no signal when the server has
/// gone away, and every wait ends at a deadline.
///
/// Threads: one at a time.
// @unchecked: whoever has a session is the only one.
final class RedisSession: @unchecked Sendable {
  private static let chunk = 64 << 10
  private static let shortTime: Int64 = 10_000_000

  private let context: UnsafeMutablePointer<redisContext>
  private var output: [UInt8] = []
  private var sent = 0

  /// Connects, and says who asks.
  ///
  /// A name is resolved by the system, for as long as that takes.
  ///
  /// - Parameter deadline: Nanoseconds of the monotonic clock.
  init(_ configuration: RedisConfiguration, deadline: Int64) throws(RemoteTierError) {
    let made: UnsafeMutablePointer<redisContext>? =
      switch configuration.address {
      case .host(let host, let port): redisConnectNonBlock(host, Int32(port))
      case .unixSocket(let path): redisConnectUnixNonBlock(path)
      }
    guard let made else { throw RemoteTierError(.unreachable, "There is no memory for a connection.") }
    context = made
    if made.pointee.err != 0 {
      let message = Self.message(made)
      redisFree(made)
      throw RemoteTierError(.unreachable, "Connecting to \(configuration.address): \(message)")
    }
    do throws(RemoteTierError) {
      try finishConnecting(configuration, deadline)
      try introduce(configuration, deadline)
    } catch {
      redisFree(made)
      throw error
    }
    isReady = true
  }

  private var isReady = false
  private var isBlocking = false
  /// How long the socket waits for what arrives, in nanoseconds.
  private var receiveLimit: Int64 = 0
  /// When it was used last, by the monotonic clock.
  private(set) var lastUse: Int64 = 0

  deinit { if isReady { redisFree(context) } }

  var descriptor: Int32 { context.pointee.fd }

  private static func message(_ context: UnsafeMutablePointer<redisContext>) -> String {
    withUnsafeBytes(of: context.pointee.errstr) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  private func finishConnecting(_ configuration: RedisConfiguration, _ deadline: Int64) throws(RemoteTierError) {
    guard try Self.wait(descriptor, forWriting: true, deadline) else {
      throw RemoteTierError(.timedOut, "Connecting to \(configuration.address) took too long.")
    }
    var status: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &status, &length) == 0, status == 0 else {
      throw RemoteTierError(
        .unreachable, "Connecting to \(configuration.address): \(SystemError("connect", "the server", errno: status))")
    }
    var yes: Int32 = 1
    if case .host = configuration.address {
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
      setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &yes, socklen_t(MemoryLayout<Int32>.size))
    }
    #if canImport(Darwin)
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<Int32>.size))
    #endif
    // A child of this process has its own.
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  private func introduce(_ configuration: RedisConfiguration, _ deadline: Int64) throws(RemoteTierError) {
    var commands: [RemoteCommand] = []
    if let password = configuration.password {
      let user = configuration.username.map { [Data($0.utf8)] } ?? []
      commands.append(RemoteCommand([Data("AUTH".utf8)] + user + [Data(password.utf8)]))
    }
    if configuration.database != 0 {
      commands.append(RemoteCommand([Data("SELECT".utf8), Data("\(configuration.database)".utf8)]))
    }
    commands.append(
      RemoteCommand([Data("CLIENT".utf8), Data("SETNAME".utf8), Data(configuration.clientName.utf8)]))
    let replies = try perform(commands, deadline: deadline)
    for (command, reply) in zip(commands, replies) {
      // A server may forbid that a client has a name.
      guard case .error(let message) = reply, command.arguments[0] != Data("CLIENT".utf8) else { continue }
      if message.hasPrefix("LOADING") { throw RemoteTierError(.unreachable, message) }
      throw RemoteTierError(.refused, message)
    }
  }

  // MARK: Commands

  /// Sends commands and waits for their replies.
  func perform(_ commands: [RemoteCommand], deadline: Int64) throws(RemoteTierError) -> [RemoteReply] {
    for command in commands { append(command) }
    var replies: [RemoteReply] = []
    while replies.count < commands.count {
      if try !flush() {
        guard try Self.wait(descriptor, forWriting: true, deadline) else { throw Self.late }
        continue
      }
      if let reply = try nextReply() {
        replies.append(reply)
      } else {
        try receive(before: deadline)
      }
    }
    lastUse = MonotonicClock.nanoseconds
    return replies
  }

  /// Waits for what arrives, in one call of the system where the socket waits for as long as is asked for.
  private func receive(before deadline: Int64) throws(RemoteTierError) {
    let rest = deadline - MonotonicClock.nanoseconds
    if rest <= 0 { throw Self.late }
    guard isBlocking else {
      guard try Self.wait(descriptor, forWriting: false, deadline) else { throw Self.late }
      try receive()
      return
    }
    // It is set seldom: what it is set to serves what is shorter by a tenth or less, too.
    if rest > receiveLimit || rest < receiveLimit / 10 * 9 {
      receiveLimit = rest + rest / 64
      var limit = timeval()
      limit.tv_sec = numericCast(receiveLimit / 1_000_000_000)
      limit.tv_usec = numericCast(max(1, receiveLimit % 1_000_000_000 / 1_000))
      guard
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size)) == 0
      else {
        throw RemoteTierError(.unreachable, "Waiting: \(SystemError("setsockopt", "the server", errno: errno))")
      }
    }
    if try !receive() { throw Self.late }
  }

  /// Lets the calls of the system wait, for who waits for replies anyway.
  func makeBlocking() {
    let flags = fcntl(descriptor, F_GETFL)
    if flags >= 0, fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0 { isBlocking = true }
  }

  private static var late: RemoteTierError { RemoteTierError(.timedOut, "The server did not reply in time.") }

  /// Appends a command to what is to be sent.
  func append(_ command: RemoteCommand) {
    Self.append(command, to: &output)
  }

  private static func append(_ command: RemoteCommand, to output: inout [UInt8]) {
    // The protocol's arrays of strings, which is all that a client sends.
    appendLine(UInt8(ascii: "*"), command.arguments.count, to: &output)
    for argument in command.arguments {
      appendLine(UInt8(ascii: "$"), argument.count, to: &output)
      argument.withUnsafeBytes { output.append(contentsOf: $0) }
      output.append(0x0D)
      output.append(0x0A)
    }
  }

  private static func appendLine(_ prefix: UInt8, _ number: Int, to output: inout [UInt8]) {
    output.append(prefix)
    var divisor = 1
    while number / divisor > 9 { divisor *= 10 }
    while divisor > 0 {
      output.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
      divisor /= 10
    }
    output.append(0x0D)
    output.append(0x0A)
  }

  var hasOutput: Bool { sent < output.count }

  /// Sends what can be sent now.
  ///
  /// - Returns: Whether that is all.
  func flush() throws(RemoteTierError) -> Bool {
    while sent < output.count {
      let count = output.withUnsafeBytes { bytes in
        let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
        #if canImport(Darwin)
          return send(descriptor, rest.baseAddress, rest.count, Int32(MSG_DONTWAIT))
        #else
          return send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        #endif
      }
      if count < 0 {
        if errno == EINTR { continue }
        if errno == EAGAIN || errno == EWOULDBLOCK { return false }
        throw RemoteTierError(.unreachable, "Sending: \(SystemError("send", "the server", errno: errno))")
      }
      sent += count
    }
    output.removeAll(keepingCapacity: output.capacity <= 1 << 20)
    sent = 0
    return true
  }

  /// Reads what has arrived, if anything has.
  ///
  /// - Returns: Whether anything has.
  @discardableResult
  func receive() throws(RemoteTierError) -> Bool {
    while true {
      let (count, failure) = withUnsafeTemporaryAllocation(byteCount: Self.chunk, alignment: 16) { buffer in
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        if count > 0 {
          let bytes = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
          if redisReaderFeed(context.pointee.reader, bytes, count) != 0 { return (-1, ENOMEM) }
        }
        return (count, errno)
      }
      if count > 0 {
        if count == Self.chunk, !isBlocking { continue }
        return true
      }
      if count == 0 { throw RemoteTierError(.unreachable, "The server has closed the connection.") }
      if failure == EINTR { continue }
      if failure == EAGAIN || failure == EWOULDBLOCK { return false }
      throw RemoteTierError(.unreachable, "Receiving: \(SystemError("recv", "the server", errno: failure))")
    }
  }

  /// The next reply of what was received; `nil` if there is none that is complete.
  func nextReply() throws(RemoteTierError) -> RemoteReply? {
    var reply: UnsafeMutableRawPointer?
    guard redisReaderGetReply(context.pointee.reader, &reply) == 0 else {
      throw RemoteTierError(.unreachable, "What arrived is no reply of a Redis server.")
    }
    guard let reply else { return nil }
    defer { freeReplyObject(reply) }
    return RemoteReply(reply.assumingMemoryBound(to: redisReply.self).pointee)
  }

  // MARK: Waiting

  /// Whether nothing has arrived that nobody asked for, as the end of the connection is. Of one that was just used it is
  /// taken for granted.
  func isQuiet(now: Int64) -> Bool {
    if now - lastUse < Self.shortTime { return true }
    var item = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&item, 1, 0) == 0
  }

  /// - Returns: Whether there was something before the deadline.
  private static func wait(
    _ descriptor: Int32, forWriting isWriting: Bool, _ deadline: Int64
  ) throws(RemoteTierError) -> Bool {
    while true {
      let rest = deadline - MonotonicClock.nanoseconds
      if rest <= 0 { return false }
      var item = pollfd(fd: descriptor, events: Int16(isWriting ? POLLOUT : POLLIN), revents: 0)
      let count = poll(&item, 1, Int32(clamping: (rest + 999_999) / 1_000_000))
      if count > 0 { return true }
      if count < 0, errno != EINTR {
        throw RemoteTierError(.unreachable, "Waiting: \(SystemError("poll", "the server", errno: errno))")
      }
    }
  }
}

extension RemoteReply {
  fileprivate init(_ reply: redisReply) {
    func bytes() -> Data { reply.str.map { Data(bytes: $0, count: reply.len) } ?? Data() }
    switch reply.type {
    case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: self = .bytes(bytes())
    case REDIS_REPLY_ERROR: self = .error(String(decoding: bytes(), as: UTF8.self))
    case REDIS_REPLY_INTEGER: self = .integer(reply.integer)
    case REDIS_REPLY_ARRAY:
      self = .array(
        (0..<reply.elements).map { index in
          reply.element[index].map { RemoteReply($0.pointee) } ?? .null
        })
    default: self = .null
    }
  }
}
