import Foundation
import RedisTestSupport
import TestSupport
import Testing

@testable import LMDBCachingRedis

/// Requests of many threads over the connections of one tier.
@Suite struct PipelineTests {
  let server: RedisServer

  init() throws { server = try RedisServer() }

  /// An idle thread ends, and the next request starts another. The tier's own limit is 10 s.
  @Test func threadsThatEndMeetThoseThatBegin() throws {
    let connector = RedisConnector(RedisConfiguration(unixSocket: server.socket))
    let pipeline = try RedisPipeline("redis", connector, idleTime: 0)
    defer { pipeline.close() }
    concurrently(4) { thread in
      for number in 0..<300 {
        let (done, text) = (DispatchSemaphore(value: 0), "\(thread) \(number)")
        pipeline.send([RemoteCommand(["ECHO", text])], timeLimit: 300_000_000_000) { result in
          #expect((try? result.get()) == [.bytes(Data(text.utf8))])
          done.signal()
        }
        done.wait()
        // About as long as a thread takes to end.
        if number % 3 != 0 { usleep(UInt32(number % 50 * 10)) }
      }
    }
  }

  /// Requests during a renewal of connections get their own replies.
  @Test func requestsOutliveTheRenewalOfConnections() throws {
    var configuration = RedisConfiguration(unixSocket: server.socket)
    configuration.connections = 3
    let tier = try RedisTier(configuration)
    defer { tier.close() }
    let (isOver, renewal) = (Guarded(false), DispatchGroup())
    inBackground(renewal) {
      while !isOver.current {
        tier.renewConnections()
        usleep(3_000)
      }
    }
    concurrently(8) { thread in
      let group = DispatchGroup()
      for number in 0..<300 {
        let text = "\(thread) \(number)"
        let commands = [RemoteCommand(["ECHO", text]), RemoteCommand(["PING"])]
        let expected = [RemoteReply.bytes(Data(text.utf8)), .bytes(Data("PONG".utf8))]
        if thread < 4 {
          #expect((try? tier.sendAndWait(commands, timeLimit: .seconds(300))) == expected)
          continue
        }
        group.enter()
        tier.send(commands, timeLimit: .seconds(300), isBlocking: thread == 4) { result in
          #expect((try? result.get()) == expected)
          group.leave()
        }
        if number % 20 == 0 { usleep(1_000) }
      }
      group.wait()
    }
    isOver { $0 = true }
    renewal.wait()
  }

  @Test func closingEndsRequestsAndConnections() throws {
    let tiers = try (0..<20).map { _ in try server.tier() }
    for (round, tier) in tiers.enumerated() {
      let (failures, group) = (Guarded(0), DispatchGroup())
      server.suspend()
      for _ in 0..<10 {
        group.enter()
        tier.send([RemoteCommand(["PING"])], timeLimit: .seconds(300), isBlocking: false) { result in
          if case .failure(let error) = result { failures { $0 += error.code == .closed ? 1 : 0 } }
          group.leave()
        }
      }
      // Some connections are being made, others have not begun.
      usleep(UInt32(round % 4) * 1_000)
      tier.close()
      group.wait()
      server.resume()
      #expect(failures.current == 10)
    }
    // Only the test's own connection is left.
    try withExtendedLifetime(tiers) {
      try waitUntil {
        guard case .bytes(let list) = try server.run("CLIENT", "LIST") else { return false }
        return String(decoding: list, as: UTF8.self).split(separator: "\n").count == 1
      }
    }
  }
}
