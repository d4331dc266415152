import CHiredis
import Foundation
import Platform
import Synchronization

/// One authenticated connection. One thread at a time.
// @unchecked: a session has a single owner at a time.
final class RedisSession: @unchecked Sendable {
  private static let chunk = 64 << 10
  private static let shortTime: Int64 = 10_000_000

  private let socket: RedisSocket
  private let reader: ReplyReader
  private var output: [UInt8] = []
  private var sent = 0
  /// See ``RedisConnector/renew()``.
  let generation: Int
  /// The time of the last use, by the monotonic clock.
  private var lastUse: Int64 = 0

  /// Connects and authenticates, before a deadline of the monotonic clock. Blocks.
  init(
    _ configuration: RedisConfiguration, at address: RedisConfiguration.Address, deadline: Int64, generation: Int
  ) throws(RemoteTierError) {
    self.generation = generation
    reader = try ReplyReader()
    socket = try RedisSocket.connected(to: address, before: deadline)
    try introduce(configuration, deadline)
  }

  private func introduce(_ configuration: RedisConfiguration, _ deadline: Int64) throws(RemoteTierError) {
    var commands: [RemoteCommand] = []
    func add(_ words: String...) { commands.append(RemoteCommand(words.map { Data($0.utf8) })) }
    switch (configuration.username, configuration.password) {
    case (let user?, let password?): add("AUTH", user, password)
    case (nil, let password?): add("AUTH", password)
    case (_, nil): break
    }
    if configuration.database != 0 { add("SELECT", "\(configuration.database)") }
    add("CLIENT", "SETNAME", "lmdb-caching")
    let replies: [RemoteReply]
    do throws(RemoteTierError) {
      replies = try perform(commands, deadline: deadline)
    } catch {
      // It may be the server's message before closing the connection.
      throw RemoteTierError(error.code, configuration.withoutPassword(error.message))
    }
    for (command, reply) in zip(commands, replies) {
      guard case .error(let message) = reply else { continue }
      var error = RemoteTierError(reply: configuration.withoutPassword(message))
      if error.code == .unreachable { throw error }
      // Servers may forbid client names.
      if command.arguments[0] == Data("CLIENT".utf8) { continue }
      error.code = .refused
      throw error
    }
  }

  var descriptor: Int32 { socket.descriptor }

  // MARK: Commands

  /// Sends commands and waits for their replies.
  func perform(_ commands: [RemoteCommand], deadline: Int64) throws(RemoteTierError) -> [RemoteReply] {
    for command in commands { append(command) }
    var replies: [RemoteReply] = []
    do throws(RemoteTierError) {
      while replies.count < commands.count {
        if let reply = try reader.next() {
          replies.append(reply)
        } else if try flush() {
          if try !receive(before: deadline) { throw .late }
        } else {
          // A server may refuse a command before receiving all of it.
          let events = try socket.wait(for: POLLIN | POLLOUT, before: deadline)
          if events == 0 { throw .late }
          if events & POLLIN != 0 { try receive() }
        }
      }
    } catch {
      guard error.code == .unreachable else { throw error }
      return try Self.result(replies + lastWords(), of: commands.count, error).get()
    }
    if hasOutput { throw RemoteTierError(.unreachable, "The server replied to what it had not been sent yet.") }
    lastUse = MonotonicClock.nanoseconds
    return replies
  }

  /// The result of commands on a connection that failed: all replies, or the server's message before closing it.
  static func result(
    _ replies: [RemoteReply], of count: Int, _ error: RemoteTierError
  ) -> Result<[RemoteReply], RemoteTierError> {
    if replies.count >= count { return .success(Array(replies.prefix(count))) }
    // The connection closes after a protocol error, whatever else was sent.
    if case .error(let message)? = replies.last { return .failure(RemoteTierError(reply: message)) }
    return .failure(error)
  }

  /// Replies received on a failed connection.
  func lastWords() -> [RemoteReply] {
    var replies: [RemoteReply] = []
    do throws(RemoteTierError) {
      while true {
        while let reply = try reader.next() { replies.append(reply) }
        if try !receive() { return replies }
      }
    } catch {
      // It has already failed; return the replies so far.
    }
    return replies
  }

  /// Appends a command to the output.
  func append(_ command: RemoteCommand) {
    // Clients send only RESP arrays of strings.
    output.append(contentsOf: "*\(command.arguments.count)\r\n".utf8)
    for argument in command.arguments {
      output.append(contentsOf: "$\(argument.count)\r\n".utf8)
      output.append(contentsOf: argument)
      output.append(contentsOf: "\r\n".utf8)
    }
  }

  var hasOutput: Bool { sent < output.count }

  /// Sends as much as possible without blocking. Returns whether everything was sent.
  func flush() throws(RemoteTierError) -> Bool {
    while sent < output.count {
      let output = output
      let count = try unsafe output.span.bytes.withUnsafeBytes { (bytes) throws(RemoteTierError) in
        try unsafe socket.send(UnsafeRawBufferPointer(rebasing: bytes[sent...]))
      }
      if count == 0 { return false }
      sent += count
    }
    output.removeAll(keepingCapacity: output.capacity <= 1 << 20)
    sent = 0
    return true
  }

  /// The next complete reply received, or `nil`.
  func nextReply() throws(RemoteTierError) -> RemoteReply? { try reader.next() }

  /// Reads the bytes that have arrived, or waits for some until a deadline. Returns whether there were any.
  @discardableResult
  func receive(before deadline: Int64? = nil) throws(RemoteTierError) -> Bool {
    var hasReceived = false
    while true {
      let count = try unsafe withUnsafeTemporaryAllocation(byteCount: Self.chunk, alignment: 16) {
        (buffer) throws(RemoteTierError) -> Int? in
        let count = try unsafe socket.receive(into: buffer, before: hasReceived ? nil : deadline)
        if let count { try unsafe reader.feed(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
        return count
      }
      guard let count else { return hasReceived }
      hasReceived = true
      if count < Self.chunk { return true }
    }
  }

  /// Whether no unexpected bytes have arrived, such as the connection's end. Assumed for a recently used one.
  func isQuiet(now: Int64) -> Bool { now - lastUse < Self.shortTime || !socket.hasArrivals }
}

/// Parses replies from received bytes, by hiredis.
// @safe: owns the reader; replies are copied.
@safe final class ReplyReader {
  private let reader: UnsafeMutablePointer<redisReader>

  init() throws(RemoteTierError) {
    guard let reader = unsafe redisReaderCreate() else {
      throw RemoteTierError(.unreachable, "There is no memory for a connection.")
    }
    unsafe self.reader = reader
  }

  deinit { unsafe redisReaderFree(reader) }

  func feed(_ bytes: UnsafeRawBufferPointer) throws(RemoteTierError) {
    let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
    guard unsafe redisReaderFeed(reader, start, bytes.count) == 0 else {
      throw RemoteTierError(.unreachable, "There is no memory for what arrives.")
    }
  }

  /// The next complete reply, or `nil`.
  func next() throws(RemoteTierError) -> RemoteReply? {
    var reply: UnsafeMutableRawPointer?
    guard unsafe redisReaderGetReply(reader, &reply) == 0 else {
      throw RemoteTierError(.unreachable, "What arrived is no reply of a Redis server.")
    }
    guard let reply = unsafe reply else { return nil }
    defer { unsafe freeReplyObject(reply) }
    return unsafe RemoteReply(reply.assumingMemoryBound(to: redisReply.self).pointee)
  }
}

extension RemoteReply {
  fileprivate init(_ reply: redisReply) {
    func bytes() -> Data { unsafe reply.str.map { unsafe Data(bytes: $0, count: reply.len) } ?? Data() }
    switch unsafe reply.type {
    case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: self = .bytes(bytes())
    case REDIS_REPLY_ERROR: self = .error(String(decoding: bytes(), as: UTF8.self))
    case REDIS_REPLY_INTEGER: self = unsafe .integer(reply.integer)
    case REDIS_REPLY_ARRAY:
      let elements = unsafe UnsafeBufferPointer(start: reply.element, count: reply.elements)
      self = unsafe .array(elements.map { unsafe $0.map { unsafe RemoteReply($0.pointee) } ?? .null })
    default: self = .null
    }
  }
}

/// Creates connections, each on a separate thread, so that callers can time out.
final class RedisConnector: Sendable {
  typealias Completion = @Sendable (Result<RedisSession, RemoteTierError>) -> Void

  private let configuration: RedisConfiguration
  /// The node that a cluster named for the fleet's keys, if any.
  private let redirection = Mutex<RedisConfiguration.Address?>(nil)
  private let renewals = Atomic<Int>(0)

  init(_ configuration: RedisConfiguration) { self.configuration = configuration }

  /// Connections made so far are not used for later requests.
  func renew() { renewals.add(1, ordering: .acquiringAndReleasing) }

  func isCurrent(_ session: RedisSession) -> Bool { session.generation == renewals.load(ordering: .acquiring) }

  /// Renews the connections when the server reports that it is not, or no longer, the fleet's.
  func check(_ reply: RemoteReply) {
    guard case .error(let message) = reply, RemoteTierError.isOfAnotherServer(reply: message) else { return }
    follow(message)
    renew()
  }

  func connect(completion: @escaping Completion) {
    do throws(SystemError) {
      try PlatformThread.start(name: "redis-connect") { [self] in
        let result: Result<RedisSession, RemoteTierError>
        do throws(RemoteTierError) { result = .success(try connect()) } catch { result = .failure(error) }
        completion(result)
      }
    } catch {
      completion(.failure(RemoteTierError(.unreachable, "\(error)")))
    }
  }

  private func connect() throws(RemoteTierError) -> RedisSession {
    let generation = renewals.load(ordering: .acquiring)
    // For both attempts.
    let deadline = MonotonicClock.nanoseconds.addingClamped(configuration.connectTimeLimit.clampedNanoseconds)
    if let address = redirection.withLock({ $0 }) {
      do throws(RemoteTierError) {
        return try RedisSession(configuration, at: address, deadline: deadline, generation: generation)
      } catch {
        // Another node may have replaced it, which the others know.
        redirection.withLock { if $0 == address { $0 = nil } }
      }
    }
    return try RedisSession(configuration, at: configuration.address, deadline: deadline, generation: generation)
  }

  /// Follows a cluster's redirection: `MOVED 3999 10.0.0.5:6381`. An empty host means the responding node's.
  func follow(_ message: String) {
    let words = message.split(separator: " ")
    guard words.count >= 3, words[0] == "MOVED", let colon = words[2].lastIndex(of: ":"),
      let port = Int(words[2][words[2].index(after: colon)...]), (1...65_535).contains(port)
    else { return }
    var host = String(words[2][..<colon])
    if host.isEmpty || host == "?" {
      guard case .host(let own, _) = redirection.withLock({ $0 }) ?? configuration.address else { return }
      host = own
    }
    redirection.withLock { $0 = .host(host, port: port) }
  }
}
