import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct ConnectionTests {
  private static let ping = [RemoteCommand(["PING"])]
  private static let pong = [RemoteReply.bytes(Data("PONG".utf8))]

  enum Way: CaseIterable { case waiting, calledBack }

  private func ask(
    _ tier: RedisTier, _ way: Way, _ limit: Duration, _ commands: [RemoteCommand] = ping
  ) -> Result<[RemoteReply], RemoteTierError> {
    if way == .waiting {
      do throws(RemoteTierError) {
        return .success(try tier.sendAndWait(commands, timeLimit: limit))
      } catch {
        return .failure(error)
      }
    }
    let result = Guarded<Result<[RemoteReply], RemoteTierError>?>(nil)
    let done = DispatchSemaphore(value: 0)
    tier.send(commands, timeLimit: limit, isBlocking: false) { reply in
      result { $0 = reply }
      done.signal()
    }
    done.wait()
    return result.current!
  }

  @Test(arguments: ["127.0.0.1", "localhost"]) func machinesShareADatabaseOverTCP(_ host: String) throws {
    let server = try RedisServer(listens: true)
    func machine(_ database: Int) throws -> Machine {
      var configuration = RedisConfiguration(host: host, port: server.port)
      configuration.database = database
      return try Machine(RedisTier(configuration))
    }
    let (first, second, other) = (try machine(3), try machine(3), try machine(4))
    try first.cache.set("value", forKey: "k")
    #expect(try second.cache.value(String.self, forKey: "k") == "value")
    #expect(try other.cache.value(String.self, forKey: "k") == nil)
    try second.cache.set("new", forKey: "k")
    try waitUntil { try first.cache.value(String.self, forKey: "k") == "new" }
    var configuration = RedisConfiguration(host: host, port: server.port)
    configuration.database = 99
    let error = #expect(throws: RemoteTierError.self) {
      try RedisTier(configuration).sendAndWait(Self.ping, timeLimit: .seconds(300))
    }
    #expect(error?.code == .refused)
  }

  @Test(arguments: Way.allCases, ["localhost", "no-such-host.invalid"])
  func anAddressWithoutAServerIsAnError(_ way: Way, _ host: String) throws {
    let tier = try RedisTier(RedisConfiguration(host: host, port: 1))
    guard case .failure(let error) = ask(tier, way, .seconds(300)) else { throw NotInTime() }
    #expect(error.code == .unreachable || error.code == .timedOut && host != "localhost")
  }

  /// Progress on a reply does not extend its deadline.
  @Test(arguments: Way.allCases) func aReplyThatTricklesIsLate(_ way: Way) throws {
    let server = try ScriptedServer { command, _ in
      if command[0] != "PING" { return [.send("+OK\r\n")] }
      return [.send("$600\r\n")] + Array(repeating: [.send("x"), .wait(20)], count: 600).joined() + [.send("\r\n")]
    }
    let tier = try RedisTier(RedisConfiguration(unixSocket: server.path))
    guard case .failure(let error) = ask(tier, way, .seconds(1)) else { throw NotInTime() }
    #expect(error.code == .timedOut)
  }

  #if canImport(Glibc)
    /// Signals at a higher rate than the timeout (from a profiler, for example) must not prolong it.
    @Test func signalsDoNotProlongAWait() throws {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { _ in }
      #expect(sigaction(SIGURG, &action, nil) == 0)
      let server = try RedisServer()
      server.suspend()
      let tier = try server.tier()
      let (thread, result, group) = (Guarded<pthread_t?>(nil), Guarded<RemoteTierError.Code?>(nil), DispatchGroup())
      inBackground(group) {
        thread { $0 = pthread_self() }
        let error = #expect(throws: RemoteTierError.self) {
          try tier.sendAndWait(Self.ping, timeLimit: .milliseconds(400))
        }
        // The thread's identifier is invalid once it has ended.
        thread { $0 = nil }
        result { $0 = error?.code ?? .failed }
      }
      var signals = 0
      while result.current == nil, signals < 30_000 {
        thread { if let thread = $0 { pthread_kill(thread, SIGURG) } }
        signals += 1
        usleep(10_000)
      }
      group.wait()
      server.resume()
      #expect(result.current == .timedOut && signals < 30_000)
    }
  #endif

  /// A handshake slower than a request's deadline serves the next request.
  @Test(arguments: Way.allCases) func aSlowHandshakeIsNotBegunAgainAndAgain(_ way: Way) throws {
    let server = try ScriptedServer { command, _ in
      command[0] == "PING" ? [.send("+PONG\r\n")] : [.wait(1_500), .send("+OK\r\n")]
    }
    let tier = try RedisTier(RedisConfiguration(unixSocket: server.path))
    var attempts = 0
    try waitUntil {
      attempts += 1
      if case .success(let replies) = ask(tier, way, .milliseconds(300)) { return replies == Self.pong }
      return false
    }
    #expect(attempts > 1)
  }

  @Test(arguments: Way.allCases) func aLateReplyIsNobodysElse(_ way: Way) throws {
    let count = Guarded(0)
    let server = try ScriptedServer { command, _ in
      if command[0] != "ECHO" { return [.send("+OK\r\n")] }
      let isFirst = count {
        $0 += 1; return $0 == 1
      }
      return (isFirst ? [.wait(1_500)] : []) + [.send("+\(command[1])\r\n")]
    }
    let tier = try RedisTier(RedisConfiguration(unixSocket: server.path))
    guard case .failure(let error) = ask(tier, way, .milliseconds(700), [RemoteCommand(["ECHO", "0"])]) else {
      throw NotInTime()
    }
    #expect(error.code == .timedOut)
    var answered = 0
    try waitUntil {
      let number = "\(answered + 1)"
      switch ask(tier, way, .seconds(300), [RemoteCommand(["ECHO", number])]) {
      case .success(let replies):
        #expect(replies == [.bytes(Data(number.utf8))])
        answered += 1
      // A connection that is late for too long is closed.
      case .failure(let error): #expect(error.code == .timedOut)
      }
      return answered == 50
    }
  }

  @Test(arguments: Way.allCases) func aServerThatEndsTheConnectionIsAskedAgain(_ way: Way) throws {
    let server = try ScriptedServer { command, connection in
      if command[0] != "PING" { return [.send("+OK\r\n")] }
      return connection.isMultiple(of: 2) ? [.send("+PONG\r\n")] : [.close]
    }
    let tier = try RedisTier(RedisConfiguration(unixSocket: server.path))
    guard case .failure(let error) = ask(tier, way, .seconds(300)) else { throw NotInTime() }
    #expect(error.code == .unreachable)
    // No time limit is too long.
    #expect(try ask(tier, way, .seconds(Int64.max)).get() == Self.pong)
  }

  /// 64 requests in one stall of the server count as one failure.
  @Test func oneStallIsOneFailure() async throws {
    let server = try RedisServer()
    let machine = try Machine(server) { $0.timeLimit = .seconds(2) }
    _ = try await machine.cache.value(Int.self, forKey: "connects")
    server.suspend()
    await withTaskGroup(of: Void.self) { group in
      for key in 0..<64 { group.addTask { _ = try? await machine.cache.value(Int.self, forKey: "k\(key)") } }
    }
    server.resume()
    #expect(machine.cache.statistics.failures > 0)
    #expect(!machine.cache.health.areReadsSuspended)
  }

  /// An exhausted pool says nothing about the server or the value.
  @Test func tooFewConnectionsAreNoFailureOfTheServer() throws {
    let server = try RedisServer()
    var configuration = RedisConfiguration(unixSocket: server.socket)
    configuration.connections = 1
    let tier = try RedisTier(configuration)
    let machine = try Machine(tier) { $0.timeLimit = .milliseconds(500) }
    try waitUntil { (try? machine.cache.set("here", forKey: "k")) != nil }
    try machine.settle()
    let group = DispatchGroup()
    inBackground(group) {
      // Occupies the only connection while the server is idle.
      _ = try? tier.sendAndWait([RemoteCommand(["BLPOP", "nothing", "0"])], timeLimit: .seconds(300))
    }
    try waitUntil {
      guard case .bytes(let list) = try server.run("CLIENT", "LIST") else { return false }
      return String(decoding: list, as: UTF8.self).contains("cmd=blpop")
    }
    for _ in 0..<10 { #expect(throws: RemoteTierError.self) { try machine.cache.set("new", forKey: "k") } }
    #expect(!machine.cache.health.areWritesSuspended)
    #expect(try machine.cache.local.value(String.self, forKey: "k") == "here")
    try server.run("LPUSH", "nothing", "x")
    group.wait()
  }

  @Test func settingsOfAServerThatAreWrongAreErrors() {
    func isRefused(_ change: (inout RedisConfiguration) -> Void) -> Bool {
      var configuration = RedisConfiguration()
      change(&configuration)
      do throws(RemoteTierError) {
        try RedisTier(configuration).close()
        return false
      } catch {
        return error.code == .invalidArgument
      }
    }
    #expect(!isRefused { _ in })
    for port in [Int.min, -1, 0, 65_536, .max] { #expect(isRefused { $0.address = .host("localhost", port: port) }) }
    for host in ["", "a\0b"] { #expect(isRefused { $0.address = .host(host, port: 1) }) }
    for path in ["", "/a\0b", "/" + String(repeating: "p", count: 103)] {
      #expect(isRefused { $0.address = .unixSocket(path) })
    }
    for count in [Int.min, 0, 1_025] { #expect(isRefused { $0.connections = count }) }
    #expect(isRefused { $0.database = -1 } && isRefused { $0.username = "app" })
    #expect(isRefused { $0.connectTimeLimit = .zero } && isRefused { $0.connectTimeLimit = .seconds(3_601) })
  }

  @Test(arguments: [false, true]) func nobodySeesThePassword(_ isClosing: Bool) throws {
    var configuration = RedisConfiguration(unixSocket: "/nowhere")
    (configuration.username, configuration.password) = ("app", "sesame-7")
    var dumped = ""
    dump(configuration, to: &dumped)
    for text in ["\(configuration)", String(reflecting: configuration), dumped, "\(Optional(configuration) as Any)"] {
      #expect(!text.contains("sesame-7"))
      #expect(text.contains("/nowhere"))
    }
    // A server may echo the credentials.
    let server = try ScriptedServer { command, _ in
      if command[0] != "AUTH" { return [.send("+OK\r\n")] }
      let answer = "-ERR unknown command 'AUTH', with args beginning with: 'app' 'sesame-7'\r\n"
      return isClosing ? [.send(answer), .close] : [.send(answer)]
    }
    configuration.address = .unixSocket(server.path)
    guard case .failure(let error) = ask(try RedisTier(configuration), .waiting, .seconds(300)) else {
      throw NotInTime()
    }
    #expect(!error.description.contains("sesame-7"))
    #expect(error.message.contains("unknown command"))
    if !isClosing { #expect(error.code == .refused) }
  }
}
